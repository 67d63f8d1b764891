// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /fleet/flame and /fleet/export: what a slice of the fleet has in use, as a tree and in the formats of files.
#include "host/base/id_map.h"
#include "host/export/export.h"
#include "host/fleet/slice_dump.h"
#include "host/fleet/slice_tree.h"
#include "host/rest/answers.h"
#include "host/rest/fleet_slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fleet_flame {
    struct hs_fleet_conditions conditions;
    struct hs_fleet_slice slice;
    struct hs_slice_tree tree;
    struct hs_dump *dump;
};

static void free_flame(void *work)
{
    struct fleet_flame *flame = work;
    hs_fleet_conditions__free(&flame->conditions);
    hs_slice_tree__free(&flame->tree);
    hs_dump__close(flame->dump);
    free(flame);
}

static bool per_device(const struct hs_question *question)
{
    return !strcmp(hs_question__text(question, "per"), "device");
}

static int start(struct hs_question *question, struct fleet_flame **flame)
{
    *flame = calloc(1, sizeof(**flame));
    if (!*flame)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = *flame;
    question->free_work = free_flame;
    return hs_question__slice(question, "flame", HS_FLEET_OF_TIMES, &(*flame)->slice, &(*flame)->conditions);
}

// ---- trees ---------------------------------------------------------------------------------------------------------

static int grow(struct hs_question *question, struct hs_database *database, void *context)
{
    struct fleet_flame *flame = context;
    struct hs_fleet_slice base = flame->slice;
    const bool per = per_device(question);
    base.firmware = flame->slice.than;
    int failed = hs_slice_tree__add(&flame->tree, HS_SLICE_NOW, database, &flame->slice, per, &question->error);
    if (!failed && base.firmware)
        failed = hs_slice_tree__add(&flame->tree, HS_SLICE_BASE, database, &base, per, &question->error);
    return failed;
}

int hs_prepare__fleet_flame(struct hs_question *question)
{
    struct fleet_flame *flame;
    int result = start(question, &flame);
    if (!result && flame->slice.than && !flame->slice.firmware)
        result = hs_error__set(&question->error, EINVAL, "firmware: has to be given with 'than'");
    if (result)
        return result;
    flame->tree.inverted = hs_question__flag(question, "inverted");
    result = hs_question__ask_fleet(question, grow, flame);
    if (!result && hs_slice_tree__finish(&flame->tree, hs_question__number(question, "nodes", 16000)))
        result = hs_error__set(&question->error, ENOMEM, "out of memory; a narrower slice needs less");
    return result;
}

// The nodes in the order of the answer: children of a node follow each other.
struct flame_order {
    uint32_t *node;
    int32_t *parent, *text[3];
    size_t count;
    const char **string;
    struct hs_id_map string_of; // by address: equal texts are one
    size_t strings;
    bool failed;
};

static int32_t number_of(struct flame_order *order, const char *text)
{
    if (!*text)
        return -1;
    const uint32_t known = hs_id_map__find(&order->string_of, (uintptr_t)text);
    if (known != UINT32_MAX)
        return (int32_t)known;
    order->failed |= hs_id_map__set(&order->string_of, (uintptr_t)text, (uint32_t)order->strings) != 0;
    order->string[order->strings] = text;
    return (int32_t)order->strings++;
}

static void add_node(struct flame_order *order, const struct hs_slice_tree *tree, uint32_t node, int32_t parent)
{
    const size_t at = order->count++;
    order->node[at] = node;
    order->parent[at] = parent;
    order->text[0][at] = number_of(order, tree->node[node].function);
    order->text[1][at] = number_of(order, tree->node[node].library);
    order->text[2][at] = number_of(order, tree->node[node].file);
}

static void put_in_order(struct flame_order *order, const struct hs_slice_tree *tree)
{
    add_node(order, tree, 0, -1);
    for (size_t at = 0; at < order->count; at++)
        for (uint32_t child = tree->paths.at[order->node[at]].child; child; child = tree->paths.at[child].sibling)
            add_node(order, tree, child, (int32_t)at);
}

static bool make_order(struct flame_order *order, const struct hs_slice_tree *tree)
{
    const size_t most = tree->paths.count - tree->left_out;
    bool good = (order->node = calloc(most, sizeof(*order->node))) != NULL;
    good &= (order->parent = calloc(most, sizeof(*order->parent))) != NULL;
    good &= (order->string = calloc(3 * most, sizeof(*order->string))) != NULL;
    for (size_t i = 0; i < 3; i++)
        good &= (order->text[i] = calloc(most, sizeof(*order->text[i]))) != NULL;
    if (good)
        put_in_order(order, tree);
    return good && !order->failed;
}

static void free_order(struct flame_order *order)
{
    free(order->node);
    free(order->parent);
    free(order->string);
    for (size_t i = 0; i < 3; i++)
        free(order->text[i]);
    hs_id_map__free(&order->string_of);
}

static void write_texts(struct hs_json *json, const struct flame_order *order, const struct hs_slice_tree *tree)
{
    hs_json__open_array(json, "strings");
    for (size_t i = 0; i < order->strings; i++)
        hs_json__string(json, NULL, order->string[i]);
    hs_json__close_array(json);
    hs_json__signed_array(json, "parent", order->parent, order->count);
    hs_json__signed_array(json, "name", order->text[0], order->count);
    hs_json__signed_array(json, "library", order->text[1], order->count);
    hs_json__signed_array(json, "source", order->text[2], order->count);
    hs_json__open_array(json, "line");
    for (size_t i = 0; i < order->count; i++)
        hs_json__number(json, NULL, tree->node[order->node[i]].line);
    hs_json__close_array(json);
}

// ---- values of nodes -----------------------------------------------------------------------------------------------

static struct hs_value shown(const struct hs_slice_tree *tree, uint32_t node)
{
    return tree->paths.at[node].value;
}

static struct hs_value own(const struct hs_slice_tree *tree, uint32_t node)
{
    return tree->node[node].own_shown;
}

static struct hs_value now(const struct hs_slice_tree *tree, uint32_t node)
{
    return tree->node[node].all[HS_SLICE_NOW];
}

static struct hs_value base(const struct hs_slice_tree *tree, uint32_t node)
{
    return tree->node[node].all[HS_SLICE_BASE];
}

static void write_values(struct hs_json *json, const char *prefix, const struct flame_order *order,
                         const struct hs_slice_tree *tree,
                         struct hs_value (*value)(const struct hs_slice_tree *tree, uint32_t node))
{
    char key[32];
    snprintf(key, sizeof(key), "%ssize", prefix);
    hs_json__open_array(json, key);
    for (size_t i = 0; i < order->count; i++)
        hs_json__number(json, NULL, value(tree, order->node[i]).bytes);
    hs_json__close_array(json);
    snprintf(key, sizeof(key), "%scount", prefix);
    hs_json__open_array(json, key);
    for (size_t i = 0; i < order->count; i++)
        hs_json__number(json, NULL, value(tree, order->node[i]).count);
    hs_json__close_array(json);
}

static void write_tree(const struct hs_slice_tree *tree, const struct flame_order *order, FILE *out)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__number(&json, "nodes", order->count);
    hs_json__boolean(&json, "left_out", tree->left_out > 0);
    write_texts(&json, order, tree);
    write_values(&json, "", order, tree, shown);
    write_values(&json, "self_", order, tree, own);
    if (tree->compares) {
        write_values(&json, "now_", order, tree, now);
        write_values(&json, "base_", order, tree, base);
    }
    hs_json__close_object(&json);
    putc('\n', out);
}

int hs_answer__fleet_flame(struct hs_question *question, FILE *out)
{
    const struct fleet_flame *flame = question->work;
    struct flame_order order = {0};
    const bool good = make_order(&order, &flame->tree);
    if (good)
        write_tree(&flame->tree, &order, out);
    free_order(&order);
    return !good ? -ENOMEM : ferror(out) ? -EPIPE : 0;
}

// ---- files ---------------------------------------------------------------------------------------------------------

static int read_dump(struct hs_question *question, struct hs_database *database, void *context)
{
    struct fleet_flame *flame = context;
    return hs_slice_dump__make(database, &flame->slice, per_device(question), &flame->dump, &question->error);
}

int hs_prepare__fleet_export(struct hs_question *question)
{
    struct fleet_flame *flame;
    const char *word = question->value[0];
    const struct hs_export_format *format = hs_export_format__find(word);
    if (hs_slice_dump__check_format(word, &question->error))
        return -ENOENT;
    question->type = format ? format->media_type : question->endpoint->type;
    int result = start(question, &flame);
    return result ? result : hs_question__ask_fleet(question, read_dump, flame);
}

int hs_answer__fleet_export(struct hs_question *question, FILE *out)
{
    const struct fleet_flame *flame = question->work;
    return hs_slice_dump__write(out, flame->dump, question->value[0],
                                !strcmp(hs_question__text(question, "unit"), "count"));
}
