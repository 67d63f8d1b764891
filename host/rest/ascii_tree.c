// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /allocation_ascii_tree: the call tree as text. Frames of one line are one node, then those of one function, then
// those of one address.
#include "host/base/path.h"
#include "host/base/paths.h"
#include "host/rest/answers.h"
#include "host/rest/ascii.h"
#include "host/rest/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_ascii_tree_parameters[] = {
    {.name = "nodes",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .default_value = "16000",
     .help = "at most this many lines, those with the most memory; the last line gives the number of lines that were "
             "left out"},
    {0},
};

struct ascii_tree_label {
    uint64_t key[2];
    const struct hs_frame *frame; // the first one that was added; NULL: the root
    uint32_t node;                // of the stack table, the first one that was added
    uint64_t first, last;
};

struct ascii_tree {
    struct hs_paths paths;
    struct ascii_tree_label *label; // by node
    size_t room;
    size_t left_out;
};

static void key_of(const struct hs_question *question, uint32_t node, const struct hs_frame *frame, uint64_t key[2])
{
    bool named = frame->kind == HS_FRAME_NAMED || !*frame->module;
    if (frame->file && frame->line) {
        key[0] = (uint64_t)(uintptr_t)frame->file;
        key[1] = frame->line;
    } else {
        key[0] = named ? (uint64_t)(uintptr_t)hs_frame__identity(frame) : hs_write__call_address(question, node);
        key[1] = (uint64_t)1 << 40 << named;
    }
}

struct ascii_tree_key {
    const struct ascii_tree_label *label;
    uint64_t key[2];
};

static bool is_labelled(const void *key, uint32_t number)
{
    const struct ascii_tree_key *wanted = key;
    const struct ascii_tree_label *label = &wanted->label[number];
    return label->key[0] == wanted->key[0] && label->key[1] == wanted->key[1];
}

static int add_frame(struct ascii_tree *tree, const struct hs_question *question, uint32_t node,
                     const struct hs_frame *frame, uint32_t *at)
{
    const uint32_t made = (uint32_t)tree->paths.count;
    struct ascii_tree_key key;
    if (!HS_ARRAY_HAS_ROOM(tree->label, made, tree->room))
        return -ENOMEM;
    key.label = tree->label;
    key_of(question, node, frame, key.key);
    *at = hs_paths__child(&tree->paths, *at, hs_hash__pair(key.key[0], key.key[1]), is_labelled, &key);
    if (*at == made)
        tree->label[made] = (struct ascii_tree_label){
            .key = {key.key[0], key.key[1]}, .frame = frame, .node = node, .first = UINT64_MAX};
    return *at ? 0 : -ENOMEM;
}

static void add_times(struct ascii_tree_label *to, uint64_t first, uint64_t last)
{
    to->first = first < to->first ? first : to->first;
    to->last = last > to->last ? last : to->last;
}

static int start(struct ascii_tree *tree)
{
    if (hs_paths__start(&tree->paths) || !HS_ARRAY_HAS_ROOM(tree->label, 0, tree->room))
        return -ENOMEM;
    tree->label[0] = (struct ascii_tree_label){.first = UINT64_MAX};
    return 0;
}

static int finish(struct ascii_tree *tree, size_t most)
{
    for (uint32_t at = (uint32_t)tree->paths.count; at-- > 1;)
        add_times(&tree->label[tree->paths.at[at].parent], tree->label[at].first, tree->label[at].last);
    hs_paths__finish(&tree->paths);
    return hs_paths__prune(&tree->paths, most, &tree->left_out);
}

struct ascii_tree_stack {
    struct hs_value value;
    uint64_t first, last;
    uint32_t stack;
};

struct stacks {
    struct ascii_tree_stack *at;
    size_t count, room;
};

static int add_stack(struct ascii_tree *tree, const struct hs_question *question, const struct ascii_tree_stack *stack)
{
    size_t count;
    uint32_t at = 0;
    uint32_t *nodes = hs_write__nodes(question, stack->stack, &count);
    int result = nodes || !stack->stack ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, nodes[i]);
        for (uint32_t frame = frames->count; frame-- > 0 && !result;)
            result = add_frame(tree, question, nodes[i], &frames->frame[frame], &at);
    }
    free(nodes);
    if (result)
        return result;
    hs_value__add(&tree->paths.at[at].value, &stack->value);
    add_times(&tree->label[at], stack->first, stack->last);
    return 0;
}

static int collect(void *context, const struct hs_total *total)
{
    struct stacks *stacks = context;
    if (stacks->count == stacks->room)
        return -ENOMEM; // there are more than were counted: the store's files are being changed
    stacks->at[stacks->count++] = (struct ascii_tree_stack){
        {total->allocated_bytes, total->allocated_count}, total->first_time, total->last_time, total->stack};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct ascii_tree_stack *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// In the order in which they came up first.
static int add_stacks(struct ascii_tree *tree, const struct hs_question *question, const struct hs_stack_totals *totals)
{
    struct stacks stacks = {.room = hs_stack_totals__count(totals)};
    stacks.at = malloc((stacks.room + 1) * sizeof(*stacks.at));
    int failed = stacks.at ? hs_stack_totals__each(totals, collect, &stacks) : -ENOMEM;
    if (!failed && stacks.count)
        qsort(stacks.at, stacks.count, sizeof(*stacks.at), compare);
    for (size_t i = 0; i < stacks.count && !failed; i++)
        failed = add_stack(tree, question, &stacks.at[i]);
    free(stacks.at);
    return failed;
}

static void free_tree(void *work)
{
    struct ascii_tree *tree = work;
    hs_paths__free(&tree->paths);
    free(tree->label);
    free(tree);
}

int hs_prepare__ascii_tree(struct hs_question *question)
{
    struct hs_stack_totals totals;
    struct ascii_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = tree;
    question->free_work = free_tree;
    if (start(tree))
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__stack_totals(question, &totals);
    if (result)
        return result;
    return add_stacks(tree, question, &totals) || finish(tree, hs_question__number(question, "nodes", 16000))
               ? hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less")
               : 0;
}

// ---- text -----------------------------------------------------------------------------------------------------------

struct indent {
    char *text;
    size_t depths;
};

static bool deepen(struct indent *indent, unsigned depth)
{
    if (depth < indent->depths)
        return true;
    size_t depths = 2 * (size_t)depth + 64;
    char *text = realloc(indent->text, depths + 1);
    if (text)
        indent->text = text;
    indent->depths = text ? depths : indent->depths;
    return text != NULL;
}

struct ascii_tree_rows {
    struct hs_ascii_table *table;
    const struct hs_question *question;
    const struct ascii_tree *tree;
    struct indent indent;
};

static int add_label(struct ascii_tree_rows *rows, uint32_t at)
{
    struct hs_ascii_table *table = rows->table;
    const struct ascii_tree_label *label = &rows->tree->label[at];
    const struct hs_frame *frame = label->frame;
    const char *indent = rows->indent.text, *branch = rows->tree->paths.at[at].sibling ? "├" : "└";
    uint64_t address = hs_write__call_address(rows->question, label->node);
    if (frame->kind != HS_FRAME_NAMED && *frame->module)
        return hs_ascii_table__add(table, "%s%s%016" PRIX64 " [%s]", indent, branch, address,
                                   hs_path__name(frame->module));
    if (frame->kind != HS_FRAME_NAMED && address)
        return hs_ascii_table__add(table, "%s%s%016" PRIX64, indent, branch, address);
    if (frame->file && frame->line)
        return hs_ascii_table__add(table, "%s%s%s [%s:%u]", indent, branch, frame->function, hs_path__name(frame->file),
                                   frame->line);
    return hs_ascii_table__add(table, "%s%s%s", indent, branch, frame->function);
}

static int add_numbers(struct hs_ascii_table *table, const struct ascii_tree *tree, uint32_t at)
{
    char text[3][48];
    const struct hs_value *value = &tree->paths.at[at].value;
    const struct ascii_tree_label *label = &tree->label[at];
    bool none = label->first > label->last;
    hs_ascii__size(text[0], sizeof(text[0]), value->bytes);
    hs_ascii__time(text[1], sizeof(text[1]), none ? 0 : label->first);
    hs_ascii__time(text[2], sizeof(text[2]), none ? 0 : label->last);
    int failed = hs_ascii_table__add(table, "%s", text[0]);
    failed = failed ? failed : hs_ascii_table__add(table, "%" PRIu64, value->count);
    failed = failed ? failed : hs_ascii_table__add(table, "%s", text[1]);
    return failed ? failed : hs_ascii_table__add(table, "%s", text[2]);
}

static int add_header(struct hs_ascii_table *table)
{
    static const char *const names[] = {"SIZE", "COUNT", "FIRST", "LAST", "SOURCE"};
    int failed = 0;
    for (unsigned i = 0; i < HS_ASCII_COLUMNS && !failed; i++)
        failed = hs_ascii_table__add(table, "%s", names[i]);
    return failed;
}

static int add_row(void *context, uint32_t at, unsigned depth)
{
    struct ascii_tree_rows *rows = context;
    if (!deepen(&rows->indent, depth))
        return -ENOMEM;
    rows->indent.text[depth] = 0;
    int failed = add_numbers(rows->table, rows->tree, at);
    if (!failed)
        failed = add_label(rows, at);
    rows->indent.text[depth] = rows->tree->paths.at[at].sibling ? '|' : ' ';
    return failed;
}

static int add_all(struct hs_ascii_table *table, const struct hs_question *question)
{
    const struct ascii_tree *tree = question->work;
    struct ascii_tree_rows rows = {.table = table, .question = question, .tree = tree};
    int failed = add_header(table);
    if (failed || !tree->paths.at[0].value.count)
        return failed;
    failed = add_numbers(table, tree, 0);
    if (!failed)
        failed = hs_ascii_table__add(table, "▒");
    if (!failed)
        failed = hs_paths__walk(&tree->paths, add_row, NULL, &rows);
    free(rows.indent.text);
    return failed;
}

int hs_answer__ascii_tree(struct hs_question *question, FILE *out)
{
    struct hs_ascii_table table = {.columns = HS_ASCII_COLUMNS};
    int failed = add_all(&table, question);
    hs_ascii_table__print(&table, out);
    if (!failed)
        failed = add_all(&table, question);
    hs_ascii_table__end(&table);
    const struct ascii_tree *tree = question->work;
    if (!failed && tree->left_out)
        fprintf(out, "%zu more lines are left out, the smallest; nodes=N shows N\n", tree->left_out);
    return failed;
}
