// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /allocation_ascii_tree: the call tree as text. Frames of one line are one node, then those of one function, then
// those of one address.
#include "host/rest/answers.h"
#include "host/rest/ascii.h"
#include "host/rest/label_tree.h"
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

struct ascii_tree_tree_work {
    struct hs_label_tree tree;
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

static int add_frames(struct hs_label_tree *tree, const struct hs_question *question, uint32_t node, uint32_t *at,
                      const struct hs_label_value *value)
{
    const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, node);
    for (uint32_t i = frames->count; i-- > 0;) {
        uint64_t key[2];
        key_of(question, node, &frames->frame[i], key);
        *at = hs_label_tree__child(tree, *at, key, &frames->frame[i], node);
        if (!*at)
            return -ENOMEM;
        hs_label_tree__add(&tree->at[*at], value);
    }
    return 0;
}

struct ascii_tree_stack {
    struct hs_label_value value;
    uint32_t stack;
};

struct stacks {
    struct ascii_tree_stack *at;
    size_t count, room;
};

static int add_stack(struct hs_label_tree *tree, const struct hs_question *question,
                     const struct ascii_tree_stack *stack)
{
    size_t count;
    uint32_t at = 0;
    uint32_t *nodes = hs_write__nodes(question, stack->stack, &count);
    int result = nodes || !stack->stack ? 0 : -ENOMEM;
    hs_label_tree__add(&tree->at[0], &stack->value);
    for (size_t i = 0; i < count && !result; i++)
        result = add_frames(tree, question, nodes[i], &at, &stack->value);
    free(nodes);
    return result;
}

static int collect(void *context, const struct hs_total *total)
{
    struct stacks *stacks = context;
    if (stacks->count == stacks->room)
        return -ENOMEM; // there are more than were counted: the store's files are being changed
    stacks->at[stacks->count++] = (struct ascii_tree_stack){
        {total->allocated_bytes, total->allocated_count, total->first_time, total->last_time}, total->stack};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct ascii_tree_stack *a = left, *b = right;
    if (a->value.first != b->value.first)
        return a->value.first < b->value.first ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// In the order in which they came up first.
static int add_stacks(struct hs_label_tree *tree, const struct hs_question *question,
                      const struct hs_stack_totals *totals)
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
    struct ascii_tree_tree_work *tree = work;
    hs_label_tree__free(&tree->tree);
    free(tree);
}

int hs_prepare__ascii_tree(struct hs_question *question)
{
    struct hs_stack_totals totals;
    struct ascii_tree_tree_work *work = calloc(1, sizeof(*work));
    if (!work || hs_label_tree__start(&work->tree)) {
        free(work);
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    }
    question->work = work;
    question->free_work = free_tree;
    int result = hs_question__stack_totals(question, &totals);
    if (result)
        return result;
    return add_stacks(&work->tree, question, &totals) ||
                   hs_label_tree__prune(&work->tree, hs_question__number(question, "nodes", 16000), &work->left_out)
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

static int add_label(struct hs_ascii_table *table, const struct hs_question *question, const char *indent,
                     const struct hs_label_node *node)
{
    const struct hs_frame *frame = node->frame;
    const char *branch = node->sibling ? "├" : "└";
    uint64_t address = hs_write__call_address(question, node->node);
    if (frame->kind != HS_FRAME_NAMED && *frame->module)
        return hs_ascii_table__add(table, "%s%s%016" PRIX64 " [%s]", indent, branch, address,
                                   hs_base_name(frame->module));
    if (frame->kind != HS_FRAME_NAMED && address)
        return hs_ascii_table__add(table, "%s%s%016" PRIX64, indent, branch, address);
    if (frame->file && frame->line)
        return hs_ascii_table__add(table, "%s%s%s [%s:%u]", indent, branch, frame->function, hs_base_name(frame->file),
                                   frame->line);
    return hs_ascii_table__add(table, "%s%s%s", indent, branch, frame->function);
}

static int add_numbers(struct hs_ascii_table *table, const struct hs_label_node *node)
{
    char text[3][48];
    bool none = node->first > node->last;
    hs_ascii__size(text[0], sizeof(text[0]), node->bytes);
    hs_ascii__time(text[1], sizeof(text[1]), none ? 0 : node->first);
    hs_ascii__time(text[2], sizeof(text[2]), none ? 0 : node->last);
    int failed = hs_ascii_table__add(table, "%s", text[0]);
    failed = failed ? failed : hs_ascii_table__add(table, "%" PRIu64, node->count);
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

static int add_row(struct hs_ascii_table *table, const struct hs_question *question, struct indent *indent,
                   const struct hs_label_node *node, unsigned depth)
{
    if (!deepen(indent, depth))
        return -ENOMEM;
    indent->text[depth] = 0;
    int failed = add_numbers(table, node);
    if (!failed)
        failed = add_label(table, question, indent->text, node);
    indent->text[depth] = node->sibling ? '|' : ' ';
    return failed;
}

static int add_rows(struct hs_ascii_table *table, const struct hs_question *question, const struct hs_label_tree *tree)
{
    struct indent indent = {0};
    unsigned depth = 0;
    int failed = add_numbers(table, &tree->at[0]);
    if (!failed)
        failed = hs_ascii_table__add(table, "▒");
    uint32_t at = tree->at[0].first_child;
    while (at && !failed) {
        const struct hs_label_node *node = &tree->at[at];
        failed = add_row(table, question, &indent, node, depth);
        uint32_t next = node->first_child;
        depth += next != 0;
        while (at && !next) {
            next = tree->at[at].sibling;
            if (next)
                break;
            at = tree->at[at].parent;
            depth--;
        }
        at = next;
    }
    free(indent.text);
    return failed;
}

static int add_all(struct hs_ascii_table *table, const struct hs_question *question)
{
    const struct hs_label_tree *tree = &((const struct ascii_tree_tree_work *)question->work)->tree;
    int failed = add_header(table);
    return failed || !tree->at[0].count ? failed : add_rows(table, question, tree);
}

int hs_answer__ascii_tree(struct hs_question *question, FILE *out)
{
    struct hs_ascii_table table = {.columns = HS_ASCII_COLUMNS};
    int failed = add_all(&table, question);
    hs_ascii_table__print(&table, out);
    if (!failed)
        failed = add_all(&table, question);
    hs_ascii_table__end(&table);
    const struct ascii_tree_tree_work *work = question->work;
    if (!failed && work->left_out)
        fprintf(out, "%zu more lines are left out, the smallest; nodes=N shows N\n", work->left_out);
    return failed;
}
