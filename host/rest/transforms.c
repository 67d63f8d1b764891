// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/transforms.h"

#include "host/base/hash_index.h"
#include "host/filter/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What a function's or a library's name means.
enum { IS_ROOT = 1, IS_MERGED = 2, IS_COLLAPSED = 4 };

// Names by pointer: equal names are equal pointers. [0] is not used.
struct transforms_names {
    const char **name;
    uint8_t *verdict;
    size_t count, room;
    uint32_t *slot;
    size_t slots; // a power of two
};

struct hs_transformer {
    const struct hs_transforms *transforms;
    struct hs_trace_symbols *symbols;
    const struct hs_query_control *control;
    struct hs_error *error;
    const struct hs_node_tree *nodes;
    struct hs_transformed made, *to;
    struct transforms_names functions, libraries;
    size_t room;
    struct hs_hash_index index; // nodes of `to`, by their parents and their functions
    uint32_t *now;              // by node of the tree: the node of `to` that it has led to
    uint8_t *state;             // by the same: OUTSIDE, ENDED
};

enum { OUTSIDE = 1, ENDED = 2 }; // the root is not reached yet; the rest is left out

bool hs_transforms__any(const struct hs_transforms *transforms)
{
    return transforms->root_function || transforms->merge_function || transforms->merge_library ||
           transforms->collapse_function || transforms->collapse_library || transforms->collapse_recursion;
}

struct hs_transforms hs_question__transforms(const struct hs_question *question)
{
    return (struct hs_transforms){.root_function = hs_question__text(question, "root_function"),
                                  .merge_function = hs_question__text(question, "merge_function"),
                                  .merge_library = hs_question__text(question, "merge_library"),
                                  .collapse_function = hs_question__text(question, "collapse_function"),
                                  .collapse_library = hs_question__text(question, "collapse_library"),
                                  .collapse_recursion = hs_question__flag(question, "collapse_recursion")};
}

char *hs_transforms__text(const struct hs_transforms *transforms)
{
    const struct {
        const char *name, *value;
    } all[] = {{"root_function=", transforms->root_function},
               {"merge_function=", transforms->merge_function},
               {"merge_library=", transforms->merge_library},
               {"collapse_function=", transforms->collapse_function},
               {"collapse_library=", transforms->collapse_library},
               {"collapse_recursion", transforms->collapse_recursion ? "" : NULL}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *separator = "";
    for (size_t i = 0; out && i < sizeof(all) / sizeof(all[0]); i++) {
        if (!all[i].value)
            continue;
        fprintf(out, "%s%s%s", separator, all[i].name, all[i].value);
        separator = ", ";
    }
    if (out && !fclose(out))
        return text;
    free(text);
    return NULL;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static uint32_t *slot_of_name(const struct transforms_names *names, const char *name)
{
    size_t i = (size_t)(((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u) >> 32) & (names->slots - 1);
    while (names->slot[i] && names->name[names->slot[i]] != name)
        i = (i + 1) & (names->slots - 1);
    return &names->slot[i];
}

static int grow_names(struct transforms_names *names)
{
    const size_t room = names->room ? 2 * names->room : 1024;
    const char **name = reallocarray(names->name, room, sizeof(*name));
    if (name)
        names->name = name;
    uint32_t *slot = calloc(2 * room, sizeof(*slot));
    if (!name || !slot) {
        free(slot);
        return -ENOMEM;
    }
    free(names->slot);
    names->slot = slot;
    names->slots = 2 * room;
    names->room = room;
    names->name[0] = "";
    names->count += !names->count;
    for (size_t i = 1; i < names->count; i++)
        *slot_of_name(names, names->name[i]) = (uint32_t)i;
    return 0;
}

static int add_name(struct transforms_names *names, const char *name)
{
    if (names->count == names->room && grow_names(names))
        return -ENOMEM;
    uint32_t *slot = slot_of_name(names, name);
    if (!*slot) {
        *slot = (uint32_t)names->count;
        names->name[names->count++] = name;
    }
    return 0;
}

static uint8_t verdict_of(const struct transforms_names *names, const char *name)
{
    return names->verdict[*slot_of_name(names, name)];
}

static const char *library_of(const struct hs_frame *frame)
{
    return frame->module ? frame->module : "";
}

static bool is_cancelled(const struct hs_transformer *transforming)
{
    const int *cancel = transforming->control ? transforming->control->cancel : NULL;
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

static int find_names(struct hs_transformer *transforming)
{
    int failed = 0;
    for (uint32_t at = 1; at < transforming->nodes->paths.count && !failed; at++) {
        const struct hs_frames *frames =
            hs_trace_symbols__node(transforming->symbols, transforming->nodes->paths.at[at].place);
        for (uint32_t i = 0; i < frames->count && !failed; i++) {
            failed = add_name(&transforming->functions, frames->frame[i].function);
            if (!failed)
                failed = add_name(&transforming->libraries, library_of(&frames->frame[i]));
        }
        if (!(at & 0xffff) && is_cancelled(transforming))
            return -ECANCELED;
    }
    if (!failed && !transforming->functions.count)
        failed = grow_names(&transforming->functions) || grow_names(&transforming->libraries) ? -ENOMEM : 0;
    return failed;
}

static int judge_functions(struct hs_transformer *transforming, const char *parameter, const char *text,
                           uint8_t verdict)
{
    struct transforms_names *names = &transforming->functions;
    struct hs_pattern *pattern;
    if (!text)
        return 0;
    int result = hs_pattern__create(parameter, text, &pattern, transforming->error);
    if (result)
        return result;
    uint8_t *matches = calloc(names->count, 1);
    result = matches ? hs_pattern__match_all(pattern, names->name, names->count, matches, transforming->control,
                                             transforming->error)
                     : hs_error__set(transforming->error, ENOMEM, "out of memory");
    for (size_t i = 1; !result && i < names->count; i++)
        names->verdict[i] |= matches[i] ? verdict : 0;
    free(matches);
    hs_pattern__destroy(pattern);
    return result;
}

static int judge_libraries(struct hs_transformer *transforming, const char *text, uint8_t verdict)
{
    struct transforms_names *names = &transforming->libraries;
    if (!text)
        return 0;
    char *copy = strdup(text), *rest = copy;
    if (!copy)
        return hs_error__set(transforming->error, ENOMEM, "out of memory");
    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ","))
        for (size_t i = 1; i < names->count; i++)
            names->verdict[i] |= hs_library__matches(names->name[i], word) ? verdict : 0;
    free(copy);
    return 0;
}

static int judge(struct hs_transformer *transforming)
{
    const struct hs_transforms *transforms = transforming->transforms;
    struct transforms_names *functions = &transforming->functions, *libraries = &transforming->libraries;
    functions->verdict = calloc(functions->count, 1);
    libraries->verdict = calloc(libraries->count, 1);
    if (!functions->verdict || !libraries->verdict)
        return hs_error__set(transforming->error, ENOMEM, "out of memory");
    int result = judge_functions(transforming, "root_function", transforms->root_function, IS_ROOT);
    if (!result)
        result = judge_functions(transforming, "merge_function", transforms->merge_function, IS_MERGED);
    if (!result)
        result = judge_functions(transforming, "collapse_function", transforms->collapse_function, IS_COLLAPSED);
    if (!result)
        result = judge_libraries(transforming, transforms->merge_library, IS_MERGED);
    if (!result)
        result = judge_libraries(transforming, transforms->collapse_library, IS_COLLAPSED);
    return result;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static int grow(struct hs_transformer *transforming)
{
    struct hs_transformed *to = transforming->to;
    const size_t room = transforming->room ? 2 * transforming->room : 1024;
    struct hs_node *node = room < UINT32_MAX ? reallocarray(to->node, room, sizeof(*node)) : NULL;
    if (node)
        to->node = node;
    struct hs_frames *frames = node ? reallocarray(to->frames, room, sizeof(*frames)) : NULL;
    if (frames)
        to->frames = frames;
    struct hs_stack_value *own = frames ? reallocarray(to->own, room, sizeof(*own)) : NULL;
    if (own)
        to->own = own;
    if (!own)
        return -ENOMEM;
    transforming->room = room;
    return 0;
}

static int add_node(struct hs_transformer *transforming, uint32_t parent, const struct hs_frame *frame)
{
    struct hs_transformed *to = transforming->to;
    if (to->count == transforming->room && grow(transforming))
        return -ENOMEM;
    const uint32_t node = (uint32_t)to->count++;
    to->node[node] = (struct hs_node){.pc = HS_NEVER, .parent = parent}; // neither a cut nor a guess
    to->frames[node] = (struct hs_frames){.frame = frame, .count = frame != NULL};
    to->own[node] = (struct hs_stack_value){.stack = node};
    return 0;
}

struct transforms_key {
    const struct hs_transformed *to;
    uint32_t parent;
    const char *identity;
};

static bool is_wanted(const void *key, uint32_t node)
{
    const struct transforms_key *wanted = key;
    return wanted->to->node[node].parent == wanted->parent &&
           hs_frame__identity(wanted->to->frames[node].frame) == wanted->identity;
}

// The child of `parent` with that function; it is made if there is none.
static int child_of(struct hs_transformer *transforming, uint32_t parent, const struct hs_frame *frame, uint32_t *child)
{
    const struct transforms_key wanted = {transforming->to, parent, hs_frame__identity(frame)};
    const uint64_t hash = hs_hash__pair((uintptr_t)wanted.identity, parent);
    const uint32_t found = hs_hash_index__find(&transforming->index, hash, is_wanted, &wanted);
    const uint32_t made = (uint32_t)transforming->to->count;
    *child = found == HS_HASH_NONE ? made : found;
    if (found != HS_HASH_NONE)
        return 0;
    const int failed = add_node(transforming, parent, frame);
    return failed ? failed : hs_hash_index__add(&transforming->index, hash, made);
}

// ---- one frame after the other --------------------------------------------------------------------------------------

// The outer call of a function; 0: there is none.
static uint32_t outer_call(const struct hs_transformed *to, uint32_t node, const char *identity)
{
    while (node && hs_frame__identity(to->frames[node].frame) != identity)
        node = to->node[node].parent;
    return node;
}

static bool is_in_same_library(const struct hs_transformed *to, uint32_t node, const struct hs_frame *frame)
{
    return node && library_of(to->frames[node].frame) == library_of(frame);
}

static int enter(struct hs_transformer *transforming, const struct hs_frame *frame, uint32_t *now, uint8_t *state)
{
    struct hs_transformed *to = transforming->to;
    const uint8_t function = verdict_of(&transforming->functions, frame->function);
    const uint8_t library = verdict_of(&transforming->libraries, library_of(frame));
    if (function & IS_ROOT)
        *state &= (uint8_t)~OUTSIDE;
    if (*state || (function | library) & IS_MERGED || (library & IS_COLLAPSED && is_in_same_library(to, *now, frame)))
        return 0;
    if (function & IS_COLLAPSED)
        *state |= ENDED;
    const char *identity = hs_frame__identity(frame);
    const uint32_t outer = transforming->transforms->collapse_recursion ? outer_call(to, *now, identity) : 0;
    if (outer) {
        *now = outer;
        return 0;
    }
    return child_of(transforming, *now, frame, now);
}

static int enter_node(struct hs_transformer *transforming, uint32_t at)
{
    const struct hs_node_tree *nodes = transforming->nodes;
    const uint32_t parent = nodes->paths.at[at].parent;
    const struct hs_frames *frames = hs_trace_symbols__node(transforming->symbols, nodes->paths.at[at].place);
    uint32_t now = transforming->now[parent];
    uint8_t state = transforming->state[parent];
    int failed = 0;
    for (uint32_t i = frames->count; i-- > 0 && !failed;)
        failed = enter(transforming, &frames->frame[i], &now, &state);
    transforming->now[at] = now;
    transforming->state[at] = state;
    return failed;
}

static void add_own(struct hs_transformer *transforming, uint32_t at)
{
    const struct hs_value own = hs_paths__own(&transforming->nodes->paths, at);
    struct hs_stack_value *to = &transforming->to->own[transforming->now[at]];
    if (transforming->state[at] & OUTSIDE)
        return;
    hs_value__add(&to->value, &own);
}

// The node of a part's own frame; 0: none.
static int enter_part(struct hs_transformer *transforming, const struct hs_frame *frame, uint32_t *node)
{
    *node = 0;
    return frame ? child_of(transforming, 0, frame, node) : 0;
}

static int enter_all(struct hs_transformer *transforming, const struct hs_frame *frame)
{
    const struct hs_node_tree *nodes = transforming->nodes;
    transforming->now = calloc(nodes->paths.count, sizeof(*transforming->now));
    transforming->state = calloc(nodes->paths.count, sizeof(*transforming->state));
    int failed =
        transforming->now && transforming->state ? enter_part(transforming, frame, transforming->now) : -ENOMEM;
    if (failed)
        return failed;
    transforming->state[0] = transforming->transforms->root_function ? OUTSIDE : 0;
    add_own(transforming, 0);
    for (uint32_t at = 1; at < nodes->paths.count && !failed; at++) {
        failed = enter_node(transforming, at);
        if (!failed)
            add_own(transforming, at);
        if (!(at & 0xffff) && is_cancelled(transforming))
            return -ECANCELED;
    }
    return failed;
}

static void keep_values(struct hs_transformed *to)
{
    for (size_t i = 0; i < to->count; i++)
        if (to->own[i].value.bytes || to->own[i].value.count)
            to->own[to->own_count++] = to->own[i];
}

static void free_names(struct transforms_names *names)
{
    free(names->name);
    free(names->verdict);
    free(names->slot);
    *names = (struct transforms_names){0};
}

static int say(struct hs_error *error, int failed)
{
    if (!failed || error->message[0])
        return failed;
    if (failed == -ECANCELED)
        return hs_error__set(error, ECANCELED, "cancelled");
    return hs_error__set(error, ENOMEM, "out of memory; a narrower filter needs less");
}

int hs_transformer__create(struct hs_transformer **transformer, const struct hs_transforms *transforms,
                           struct hs_trace_symbols *symbols, const struct hs_query_control *control,
                           struct hs_error *error)
{
    struct hs_transformer *made = *transformer = calloc(1, sizeof(*made));
    error->message[0] = 0;
    if (!made)
        return say(error, -ENOMEM);
    made->transforms = transforms;
    made->symbols = symbols;
    made->control = control;
    made->error = error;
    made->to = &made->made;
    return add_node(made, 0, NULL) ? say(error, -ENOMEM) : 0;
}

static void list_nodes(const struct hs_transformer *transformer, const struct hs_stack_values *values, uint32_t *nodes)
{
    for (size_t i = 0; nodes && i < values->count; i++) {
        const uint32_t at = hs_node_tree__find(transformer->nodes, values->at[i].stack);
        nodes[i] = transformer->state[at] & OUTSIDE ? HS_NO_NODE : transformer->now[at];
    }
}

int hs_transformer__add(struct hs_transformer *transformer, const struct hs_stack_values *values,
                        const struct hs_frame *frame, uint32_t *to)
{
    const struct hs_trace_symbols *symbols = transformer->symbols;
    struct hs_node_tree nodes;
    int failed = hs_node_tree__make_of(&nodes, symbols->nodes, symbols->node_count, values->at, values->count);
    transformer->nodes = &nodes;
    if (!failed)
        failed = find_names(transformer);
    if (!failed)
        failed = judge(transformer);
    if (!failed)
        failed = enter_all(transformer, frame);
    if (!failed)
        list_nodes(transformer, values, to);
    hs_node_tree__free(&nodes);
    free_names(&transformer->functions);
    free_names(&transformer->libraries);
    free(transformer->now);
    free(transformer->state);
    transformer->now = NULL;
    transformer->state = NULL;
    return say(transformer->error, failed);
}

void hs_transformer__end(struct hs_transformer *transformer, struct hs_transformed *transformed)
{
    keep_values(transformer->to);
    *transformed = transformer->made;
    transformer->made = (struct hs_transformed){0};
}

void hs_transformer__destroy(struct hs_transformer *transformer)
{
    if (!transformer)
        return;
    hs_transformed__free(&transformer->made);
    hs_hash_index__free(&transformer->index);
    free(transformer);
}

void hs_transformed__free(struct hs_transformed *transformed)
{
    free(transformed->node);
    free(transformed->frames);
    free(transformed->own);
    *transformed = (struct hs_transformed){0};
}
