// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/view.h"

#include "host/base/array.h"
#include "host/base/hash_index.h"
#include "host/base/id_map.h"
#include "host/base/text_stream.h"
#include "host/dump/machine.h"
#include "host/dump/modules.h"
#include "host/dump/summary.h"
#include "host/report/frame_key.h"
#include "host/store/tables.h"
#include "host/symbols/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Addresses that no module and no program has: names without an address, and addresses that mean something in some of
// the dumps only.
#define NAMED_CODE   ((uint64_t)0xff << 56)
#define FOREIGN_CODE ((uint64_t)0xfe << 56)
#define LEAST_CODE   4096

struct tree {
    struct hs_node *nodes;
    uint64_t *location; // of a node: dump << 32 | location
    size_t count, room;
    struct hs_hash_index index; // nodes by parent and code
};

// ---- the tree of stacks --------------------------------------------------------------------------------------------

struct view_node_key {
    const struct tree *tree;
    uint64_t code;
    uint32_t parent;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct view_node_key *wanted = key;
    const struct hs_node *node = &wanted->tree->nodes[number];
    return node->parent == wanted->parent && node->pc == wanted->code;
}

static int grow_tree(struct tree *tree)
{
    size_t room = tree->room ? tree->room * 2 : 4096;
    struct hs_node *nodes = room < UINT32_MAX ? reallocarray(tree->nodes, room, sizeof(*nodes)) : NULL;
    if (nodes)
        tree->nodes = nodes;
    uint64_t *location = nodes ? reallocarray(tree->location, room, sizeof(*location)) : NULL;
    if (!location)
        return -ENOMEM;
    tree->location = location;
    tree->room = room;
    if (!tree->count)
        tree->nodes[tree->count++] = (struct hs_node){0};
    return 0;
}

static bool has_names(const struct hs_dump_view *view, uint64_t location)
{
    return view->dumps[location >> 32]->location[(uint32_t)location].line_count;
}

// Whether its frames are known by their keys.
static bool is_keyed(const struct hs_dump_view *view, uint64_t location)
{
    const uint32_t mapping = view->dumps[location >> 32]->location[(uint32_t)location].mapping;
    const bool *rebuilt = view->rebuilt[location >> 32];
    return view->by_function || (rebuilt && mapping != HS_DUMP_NONE && rebuilt[mapping]);
}

// The node of a frame below its caller's; 0: out of memory.
static uint32_t node_of(struct tree *tree, const struct hs_dump_view *view, uint32_t parent, uint64_t location)
{
    uint64_t code = view->codes[location >> 32][(uint32_t)location];
    if (tree->count == tree->room && grow_tree(tree))
        return 0;
    const struct view_node_key wanted = {tree, code, parent};
    const uint64_t hash = hs_hash__pair(code, parent);
    uint32_t node = hs_hash_index__find(&tree->index, hash, is_wanted, &wanted);
    if (node == HS_HASH_NONE) {
        node = (uint32_t)tree->count;
        if (hs_hash_index__add(&tree->index, hash, node))
            return 0;
        tree->nodes[tree->count] = (struct hs_node){.pc = code, .parent = parent};
        tree->location[tree->count++] = location;
    } else if (!has_names(view, tree->location[node]) && has_names(view, location)) {
        tree->location[node] = location;
    }
    return node;
}

struct view_path {
    uint32_t *location; // innermost first
    size_t count, room;
};

static int read_path(struct view_path *path, const struct hs_dump *dump, const struct hs_dump_context *context)
{
    struct hs_dump_walk walk = hs_dump__walk(dump, context);
    uint32_t location;
    path->count = 0;
    while (hs_dump_walk__next(&walk, &location)) {
        if (!HS_ARRAY_HAS_ROOM(path->location, path->count, path->room))
            return -ENOMEM;
        path->location[path->count++] = location;
    }
    return 0;
}

static int add_context(struct tree *tree, struct hs_dump_view *view, unsigned which, size_t context,
                       struct view_path *path)
{
    const struct hs_dump *dump = view->dumps[which];
    uint32_t node = 0;
    int result = read_path(path, dump, &dump->context[context]);
    for (size_t k = path->count; !result && k-- > 0;) {
        node = node_of(tree, view, node, (uint64_t)which << 32 | path->location[k]);
        result = node ? 0 : -ENOMEM;
    }
    view->nodes[which][context] = node;
    return result;
}

static int add_dump(struct tree *tree, struct hs_dump_view *view, unsigned which)
{
    const struct hs_dump *dump = view->dumps[which];
    struct view_path path = {0};
    view->nodes[which] = calloc(dump->context_count + 1, sizeof(uint32_t));
    int result = view->nodes[which] ? 0 : -ENOMEM;
    for (size_t i = 0; !result && i < dump->context_count; i++)
        result = add_context(tree, view, which, i, &path);
    free(path.location);
    return result;
}

// ---- where locations lie -------------------------------------------------------------------------------------------

// What makes a location without an address the same as another one: the functions, their files, and their lines unless
// another dump is compared, where these may have changed. NULL: out of memory.
static const char *chain_of(struct hs_dump_view *view, const struct hs_dump *dump,
                            const struct hs_dump_location *location)
{
    struct hs_text_stream text;
    FILE *stream = hs_text_stream__open(&text);
    if (!stream)
        return NULL;
    for (uint32_t i = 0; i < location->line_count; i++) {
        const struct hs_dump_line *line = &dump->line[location->first_line + i];
        const char *where = location->mapping == HS_DUMP_NONE ? "" : dump->mapping[location->mapping].path;
        fprintf(stream, "%s%c%s%c%u%c", line->function, 0, line->file ? line->file : where, 0,
                view->dump_count > 1 ? 0 : line->line, 0);
    }
    if (!location->line_count)
        fprintf(stream, "0x%llx", (unsigned long long)location->address);
    char *bytes = hs_text_stream__close(&text);
    const char *kept = bytes ? hs_strings__add_bytes(view->strings, bytes, text.size) : NULL;
    free(bytes);
    return kept;
}

// Equal chains of names are one place.
static uint64_t named_code(struct hs_dump_view *view, const struct hs_dump *dump,
                           const struct hs_dump_location *location, struct hs_id_map *known)
{
    const char *name = chain_of(view, dump, location);
    uint32_t number = name ? hs_id_map__find(known, (uintptr_t)name) : UINT32_MAX;
    if (name && number == UINT32_MAX) {
        number = (uint32_t)known->count;
        if (hs_id_map__set(known, (uintptr_t)name, number))
            return 0;
    }
    return name ? NAMED_CODE + ((uint64_t)number << 4) : 0;
}

// What is known while locations get their codes.
struct view_places {
    const struct hs_dump_modules *modules;
    struct hs_id_map named;    // by chain of names
    struct hs_id_map nameless; // addresses outside modules to which a dump gives no name
};

static int find_nameless(struct hs_id_map *nameless, const struct hs_dump *dump)
{
    int result = 0;
    for (size_t i = 0; !result && i < dump->location_count; i++) {
        const struct hs_dump_location *location = &dump->location[i];
        if (location->has_address && !location->line_count && location->mapping == HS_DUMP_NONE)
            result = hs_id_map__set(nameless, location->address, 0);
    }
    return result;
}

// Whether an address outside modules may be another one's in another dump. A name also stands for the same address of a
// dump without names.
static bool is_known_by_name(const struct hs_dump_view *view, const struct view_places *places,
                             const struct hs_dump_location *location)
{
    return view->dump_count > 1 && location->line_count &&
           hs_id_map__find(&places->nameless, location->address) == UINT32_MAX;
}

static uint64_t code_of(struct hs_dump_view *view, unsigned which, const struct hs_dump_location *location,
                        struct view_places *places)
{
    const struct hs_dump *dump = view->dumps[which];
    // In a file that is known code may lie anywhere.
    bool outside = location->mapping == HS_DUMP_NONE;
    if (!location->has_address || (location->address < LEAST_CODE && (outside || location->line_count)) ||
        (outside && is_known_by_name(view, places, location)))
        return named_code(view, dump, location, &places->named);
    uint64_t code = hs_dump_modules__place(places->modules, which, dump, location);
    // An address in no module must not be taken for one of a module of the other dump.
    return outside && hs_dump_modules__holds(places->modules, code) ? code | FOREIGN_CODE : code;
}

static int place_locations(struct hs_dump_view *view, const struct hs_dump_modules *modules, unsigned call_length)
{
    struct view_places places = {.modules = modules};
    int result = 0;
    for (unsigned which = 0; !result && view->dump_count > 1 && which < view->dump_count; which++)
        result = find_nameless(&places.nameless, view->dumps[which]);
    for (unsigned which = 0; !result && which < view->dump_count; which++) {
        const struct hs_dump *dump = view->dumps[which];
        view->codes[which] = calloc(dump->location_count + 1, sizeof(uint64_t));
        view->frames[which] = calloc(dump->location_count + 1, sizeof(struct hs_frames *));
        if (!view->codes[which] || !view->frames[which])
            result = -ENOMEM;
        for (size_t i = 0; !result && i < dump->location_count; i++) {
            uint64_t code = code_of(view, which, &dump->location[i], &places);
            result = code ? 0 : -ENOMEM;
            view->codes[which][i] = code + call_length;
        }
    }
    hs_id_map__free(&places.named);
    hs_id_map__free(&places.nameless);
    return result;
}

// ---- store and symbols ---------------------------------------------------------------------------------------------

static int list_threads(struct hs_store_tables *tables, const struct hs_dump *dump)
{
    struct hs_thread *threads = calloc(dump->thread_count + 1, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    for (size_t i = 0; i < dump->thread_count; i++)
        threads[i] = (struct hs_thread){(uint32_t)i, (uint32_t)dump->thread[i].uid, 0, dump->thread[i].name};
    tables->threads = threads;
    tables->thread_count = dump->thread_count;
    return 0;
}

struct view_sums {
    hs_dump_view_sums make;
    void *context;
};

static int make_store(struct hs_dump_view *view, const struct tree *tree, const struct hs_dump_modules *modules,
                      struct hs_dump_machine machine, const struct view_sums *sums)
{
    const struct hs_dump *dump = view->dumps[view->dump_count - 1];
    struct hs_store_tables tables = {.nodes = tree->nodes,
                                     .node_count = tree->count,
                                     .modules = modules->module,
                                     .module_count = modules->count,
                                     .executable = *dump->executable ? dump->executable : NULL,
                                     .command = hs_dump__fact(dump, "command")};
    view->node_count = tree->count;
    tables.summary.machine = machine.machine;
    tables.summary.pointer_size = machine.pointer_size;
    tables.summary.byte_order = machine.byte_order;
    int result = list_threads(&tables, dump);
    if (!result && sums->make)
        result = sums->make(sums->context, view, &tables);
    if (!result)
        result = hs_store__of_tables(&tables, &view->store);
    free((void *)(uintptr_t)tables.threads);
    view->subject.store = view->store;
    return result;
}

// Names from the dumps themselves, for addresses without symbols.
static int name_nodes(struct hs_dump_view *view, const struct tree *tree)
{
    for (uint32_t node = 1; node < tree->count; node++) {
        uint64_t location = tree->location[node];
        if (!has_names(view, location) && tree->nodes[node].pc < FOREIGN_CODE && !is_keyed(view, location))
            continue;
        const struct hs_frames *frames = hs_dump_view__location(view, (unsigned)(location >> 32), (uint32_t)location);
        if (!frames || hs_trace_symbols__set(view->subject.symbols, node, frames))
            return -ENOMEM;
    }
    return 0;
}

static struct hs_dump_machine machine_of(const struct hs_dump_view *view)
{
    struct hs_dump_machine machine = hs_dump__machine(view->dumps[0]);
    for (unsigned which = 1; !machine.machine && which < view->dump_count; which++)
        machine = hs_dump__machine(view->dumps[which]);
    return machine;
}

static int build(struct hs_dump_view *view, struct tree *tree, struct hs_dump_modules *modules,
                 const struct hs_symbols_options *options, const struct view_sums *sums)
{
    struct hs_dump_machine machine = machine_of(view);
    view->strings = hs_strings__create();
    int result = view->strings ? hs_dump_modules__find(modules, view->dumps, view->dump_count) : -ENOMEM;
    for (unsigned which = 0; !result && which < view->dump_count; which++) {
        view->rebuilt[which] = modules->rebuilt[which];
        modules->rebuilt[which] = NULL;
    }
    if (!result)
        result = place_locations(view, modules, hs_call_length(machine.machine));
    if (!result)
        result = grow_tree(tree);
    for (unsigned which = 0; !result && which < view->dump_count; which++)
        result = add_dump(tree, view, which);
    if (!result)
        result = make_store(view, tree, modules, machine, sums);
    if (result)
        return result;
    view->subject.symbols = hs_trace_symbols__create_with(view->store, options, modules->described);
    return view->subject.symbols ? name_nodes(view, tree) : -ENOMEM;
}

static int start(struct hs_dump_view *view, const struct hs_dump *const *dumps, unsigned count)
{
    *view = (struct hs_dump_view){.dumps = calloc(count, sizeof(*view->dumps)),
                                  .dump_count = count,
                                  .nodes = calloc(count, sizeof(*view->nodes)),
                                  .codes = calloc(count, sizeof(*view->codes)),
                                  .frames = calloc(count, sizeof(*view->frames)),
                                  .rebuilt = calloc(count, sizeof(*view->rebuilt))};
    if (!view->dumps || !view->nodes || !view->codes || !view->frames || !view->rebuilt)
        return -ENOMEM;
    for (unsigned which = 0; which < count; which++) {
        view->dumps[which] = dumps[which];
        if (hs_dump__lacks_libraries(dumps[which]) != hs_dump__lacks_libraries(dumps[0]))
            view->by_function = true;
    }
    view->subject.path = dumps[0]->name;
    view->subject.kind = hs_dump_kind(dumps[0]);
    view->subject.context = dumps[0];
    return 0;
}

int hs_dump_view__open_all(struct hs_dump_view *view, const struct hs_dump *const *dumps, unsigned count,
                           const struct hs_symbols_options *options, hs_dump_view_sums sums, void *context)
{
    struct tree tree = {0};
    struct hs_dump_modules modules = {0};
    int result = start(view, dumps, count);
    if (!result)
        result = build(view, &tree, &modules, options, &(struct view_sums){sums, context});
    free(tree.nodes);
    free(tree.location);
    hs_hash_index__free(&tree.index);
    hs_dump_modules__free(&modules);
    if (result)
        hs_dump_view__close(view);
    return result;
}

int hs_dump_view__open(struct hs_dump_view *view, const struct hs_dump *first, const struct hs_dump *second,
                       const struct hs_symbols_options *options)
{
    const struct hs_dump *const dumps[] = {first, second};
    return hs_dump_view__open_all(view, dumps, second ? 2 : 1, options, NULL, NULL);
}

static void free_each(void *arrays, unsigned count)
{
    void **array = arrays;
    for (unsigned i = 0; array && i < count; i++)
        free(array[i]);
    free(arrays);
}

void hs_dump_view__close(struct hs_dump_view *view)
{
    hs_totals__free(&view->subject.totals);
    hs_trace_symbols__destroy(view->subject.symbols);
    if (view->store)
        hs_store__close(view->store);
    free(view->dumps);
    free_each(view->nodes, view->dump_count);
    free_each(view->codes, view->dump_count);
    free_each(view->frames, view->dump_count);
    free_each(view->rebuilt, view->dump_count);
    free(view->like);
    hs_strings__destroy(view->strings);
    *view = (struct hs_dump_view){0};
}

// ---- names ---------------------------------------------------------------------------------------------------------

static const char *module_path(const struct hs_dump_view *view, unsigned which, const struct hs_dump_location *location)
{
    return location->mapping == HS_DUMP_NONE ? "" : view->dumps[which]->mapping[location->mapping].path;
}

// The key of a frame as the text that identifies it. NULL: out of memory.
static const char *identity_of(struct hs_dump_view *view, unsigned which, const struct hs_dump_location *location,
                               const struct hs_frame *frame)
{
    const struct hs_dump *dump = view->dumps[which];
    const bool is_mapped = location->mapping != HS_DUMP_NONE;
    const struct hs_dump_mapping *mapping = is_mapped ? &dump->mapping[location->mapping] : NULL;
    const struct hs_module module = {.path = frame->module,
                                     .build_id = mapping ? mapping->build_id : NULL,
                                     .build_id_length = mapping ? mapping->build_id_length : 0};
    struct hs_frame_source source = {&module, 1, dump->executable, view->by_function, 0};
    const struct hs_frame_key key = hs_frame_key__of(&source, frame);
    struct hs_text_stream text;
    FILE *stream = hs_text_stream__open(&text);
    if (!stream)
        return NULL;
    fprintf(stream, "%s%c%s", frame->function, 0, key.library);
    for (size_t i = 0; i < key.build_id_length; i++)
        fprintf(stream, "%s%02x", i ? "" : " ", key.build_id[i]);
    char *bytes = hs_text_stream__close(&text);
    const char *kept = bytes ? hs_strings__add_bytes(view->strings, bytes, text.size) : NULL;
    free(bytes);
    return kept;
}

// The same functions without files and lines. Changes the frames.
static const struct hs_frames *keyed(struct hs_dump_view *view, unsigned which, uint32_t index, struct hs_frame *frames,
                                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *identity = identity_of(view, which, &view->dumps[which]->location[index], &frames[i]);
        if (!identity)
            return NULL;
        frames[i].file = NULL;
        frames[i].line = 0;
        frames[i].identity = identity;
    }
    return hs_symbols__named(hs_trace_symbols__session(view->subject.symbols), &(struct hs_frames){frames, count});
}

static const struct hs_frames *keep(struct hs_dump_view *view, unsigned which, uint32_t index, struct hs_frame *frames,
                                    uint32_t count)
{
    if (is_keyed(view, (uint64_t)which << 32 | index))
        return keyed(view, which, index, frames, count);
    return hs_symbols__named(hs_trace_symbols__session(view->subject.symbols), &(struct hs_frames){frames, count});
}

static const struct hs_frames *name(struct hs_dump_view *view, unsigned which, uint32_t index)
{
    const struct hs_dump *dump = view->dumps[which];
    const struct hs_dump_location *location = &dump->location[index];
    uint32_t count = location->line_count ? location->line_count : 1;
    struct hs_frame *frames = calloc(count, sizeof(*frames));
    char text[32];
    if (!frames)
        return NULL;
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)location->address);
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_dump_line *line =
            i < location->line_count ? &dump->line[location->first_line + i] : &(struct hs_dump_line){.function = ""};
        bool named = *line->function;
        frames[i] = (struct hs_frame){.function = named ? line->function : text,
                                      .file = line->file,
                                      .line = line->line,
                                      .inlined = i + 1 < count,
                                      .kind = named ? HS_FRAME_NAMED : HS_FRAME_ADDRESS,
                                      .module = module_path(view, which, location),
                                      .address = location->address};
    }
    const struct hs_frames *result = keep(view, which, index, frames, count);
    free(frames);
    return result;
}

// Frames from symbols.
static const struct hs_frames *resolve(struct hs_dump_view *view, unsigned which, uint32_t location, uint64_t code)
{
    size_t count = 0;
    const struct hs_module *modules = hs_store__modules(view->store, &count);
    const struct hs_module *module = hs_store__module_at(view->store, code, 0);
    const struct hs_frames *frames = hs_symbols__resolve(hs_trace_symbols__session(view->subject.symbols),
                                                         module ? (int)(module - modules) : -1, code);
    if (!frames || !is_keyed(view, (uint64_t)which << 32 | location))
        return frames;
    struct hs_frame *copies = calloc(frames->count, sizeof(*copies));
    if (!copies)
        return NULL;
    memcpy(copies, frames->frame, frames->count * sizeof(*copies));
    frames = keyed(view, which, location, copies, frames->count);
    free(copies);
    return frames;
}

const struct hs_frames *hs_dump_view__location(struct hs_dump_view *view, unsigned which, uint32_t location)
{
    const struct hs_frames **frames = &view->frames[which][location];
    uint64_t code = view->codes[which][location];
    if (*frames)
        return *frames;
    const bool has_name = view->dumps[which]->location[location].line_count || code >= FOREIGN_CODE;
    *frames = has_name ? name(view, which, location) : resolve(view, which, location, code);
    return *frames;
}
