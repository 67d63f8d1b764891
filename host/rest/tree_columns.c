// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/tree_columns.h"

#include "host/base/id_map.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>

// Texts by pointer: equal ones are one.
struct tree_columns_texts {
    const char **text;
    bool *is_function;
    size_t count;
    struct hs_id_map number; // by address of the text
    bool failed;             // out of memory
};

// The texts of a node. The last one distinguishes functions with the same name.
enum { NAME, LIBRARY, SOURCE, DECLARED, TEXTS };

struct columns {
    struct hs_question *question;
    const struct hs_function_tree *tree;
    const struct hs_function_costs *costs;
    uint32_t *node;       // of the tree, parents before children
    int32_t *parent;      // by the same
    int32_t *text[TEXTS]; // -1: none
    size_t count;
    struct tree_columns_texts texts;
};

static size_t count_nodes(const struct hs_function_tree *tree)
{
    size_t count = 1;
    for (size_t i = 0; i < tree->count; i++)
        count += tree->at[i].children;
    return count;
}

static int32_t number_of(struct tree_columns_texts *texts, const char *text, bool is_function)
{
    if (!text)
        return -1;
    const uint32_t known = hs_id_map__find(&texts->number, (uintptr_t)text);
    if (known != UINT32_MAX)
        return (int32_t)known;
    texts->failed |= hs_id_map__set(&texts->number, (uintptr_t)text, (uint32_t)texts->count) != 0;
    texts->text[texts->count] = text;
    texts->is_function[texts->count] = is_function;
    return (int32_t)texts->count++;
}

static void add_node(struct columns *columns, uint32_t node, int32_t parent)
{
    const size_t at = columns->count++;
    const struct hs_frame *frame = columns->tree->at[node].frame;
    columns->node[at] = node;
    columns->parent[at] = parent;
    columns->text[NAME][at] = number_of(&columns->texts, frame ? frame->function : NULL, true);
    columns->text[LIBRARY][at] = number_of(&columns->texts, frame && *frame->module ? frame->module : NULL, false);
    columns->text[SOURCE][at] = number_of(&columns->texts, frame ? frame->file : NULL, false);
    columns->text[DECLARED][at] = number_of(&columns->texts, frame ? hs_frame__declared(frame) : NULL, false);
}

static void order_nodes(struct columns *columns)
{
    add_node(columns, 0, -1);
    for (size_t at = 0; at < columns->count; at++) {
        const struct hs_function_node *node = &columns->tree->at[columns->node[at]];
        for (uint32_t i = 0; i < node->children; i++)
            add_node(columns, node->first_child + i, (int32_t)at);
    }
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_texts(struct hs_json *json, const struct columns *columns)
{
    hs_json__open_array(json, "strings");
    for (size_t i = 0; i < columns->texts.count; i++) {
        char *memory = NULL;
        const char *text = columns->texts.text[i];
        hs_json__string(json, NULL,
                        columns->texts.is_function[i] ? hs_write__function(columns->question, text, &memory) : text);
        free(memory);
    }
    hs_json__close_array(json);
}

enum tree_columns_column { SIZE, COUNT, SELF_SIZE, SELF_COUNT };

static uint64_t value_of(const struct hs_function_values *values, enum tree_columns_column column)
{
    switch (column) {
    case SIZE:
        return values->all.bytes;
    case COUNT:
        return values->all.count;
    case SELF_SIZE:
        return values->self.bytes;
    default:
        return values->self.count;
    }
}

static void write_lines(struct hs_json *json, const struct columns *columns)
{
    hs_json__open_array(json, "line");
    for (size_t i = 0; i < columns->count; i++) {
        const struct hs_frame *frame = columns->tree->at[columns->node[i]].frame;
        hs_json__number(json, NULL, frame ? frame->line : 0);
    }
    hs_json__close_array(json);
}

static void write_values(struct hs_json *json, const struct columns *columns, unsigned cost)
{
    static const char *const keys[] = {
        [SIZE] = "size", [COUNT] = "count", [SELF_SIZE] = "self_size", [SELF_COUNT] = "self_count"};
    for (unsigned column = SIZE; column <= SELF_COUNT; column++) {
        hs_json__open_array(json, keys[column]);
        for (size_t i = 0; i < columns->count; i++) {
            const struct hs_function_values values =
                hs_function_costs__of(columns->costs, cost, columns->tree, columns->node[i]);
            hs_json__number(json, NULL, value_of(&values, (enum tree_columns_column)column));
        }
        hs_json__close_array(json);
    }
}

static void write_costs(struct hs_json *json, const struct columns *columns)
{
    if (columns->costs->count < 2)
        return;
    hs_json__open_object(json, "costs");
    for (unsigned i = 0; i < columns->costs->count; i++) {
        hs_json__open_object(json, hs_cost__name(columns->costs->cost[i]));
        write_values(json, columns, i);
        hs_json__close_object(json);
    }
    hs_json__close_object(json);
}

// Whether there are functions that the tree does not show.
static bool leaves_out(const struct columns *columns)
{
    uint64_t shown = 0, below = 0;
    for (size_t i = 0; i < columns->count; i++) {
        const struct hs_function_node *node = &columns->tree->at[columns->node[i]];
        below += node->all.count - node->self.count;
        shown += i ? node->all.count : 0;
    }
    return shown < below;
}

static void write_columns(const struct columns *columns, FILE *out)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    json.depth = 1; // it may stand in an object
    putc('{', out);
    hs_json__number(&json, "nodes", columns->count);
    hs_json__boolean(&json, "left_out", leaves_out(columns));
    write_texts(&json, columns);
    hs_json__signed_array(&json, "parent", columns->parent, columns->count);
    hs_json__signed_array(&json, "name", columns->text[NAME], columns->count);
    hs_json__signed_array(&json, "library", columns->text[LIBRARY], columns->count);
    hs_json__signed_array(&json, "source", columns->text[SOURCE], columns->count);
    hs_json__signed_array(&json, "declared", columns->text[DECLARED], columns->count);
    write_lines(&json, columns);
    write_values(&json, columns, 0);
    write_costs(&json, columns);
    putc('}', out);
}

int hs_tree_columns__write(struct hs_question *question, FILE *out, const struct hs_function_tree *tree,
                           const struct hs_function_costs *costs)
{
    const size_t count = count_nodes(tree);
    struct columns columns = {.question = question, .tree = tree, .costs = costs};
    struct tree_columns_texts *texts = &columns.texts;
    columns.node = malloc(count * sizeof(*columns.node));
    columns.parent = malloc(count * sizeof(*columns.parent));
    for (size_t i = 0; i < TEXTS; i++)
        columns.text[i] = malloc(count * sizeof(*columns.text[i]));
    texts->text = malloc(TEXTS * count * sizeof(*texts->text));
    texts->is_function = malloc(TEXTS * count);
    bool good = columns.node && columns.parent && texts->text && texts->is_function;
    for (size_t i = 0; i < TEXTS; i++)
        good &= columns.text[i] != NULL;
    if (good) {
        order_nodes(&columns);
        good = !texts->failed;
    }
    if (good)
        write_columns(&columns, out);
    for (size_t i = 0; i < TEXTS; i++)
        free(columns.text[i]);
    free(columns.node);
    free(columns.parent);
    free(texts->text);
    free(texts->is_function);
    hs_id_map__free(&texts->number);
    return !good ? -ENOMEM : ferror(out) ? -EPIPE : 0;
}
