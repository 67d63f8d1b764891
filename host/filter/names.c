// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/names.h"

#include "format/trace_format.h"
#include "host/base/array.h"
#include "host/base/id_map.h"

// How many nodes are named before others get their turn with the symbols.
#define TURN 1024

// Names by their address, which is one for equal names.
struct name_table {
    struct hs_array names; // of const char *
    struct hs_id_map numbers;
};

struct collection {
    const struct hs_node *nodes;
    size_t node_count;
    struct hs_trace_symbols *symbols;
    struct name_table functions, sources, libraries;
    struct hs_array frames, sites;
    struct hs_id_map site_numbers; // by the address of the frames
    uint32_t *site_of;
};

// Returns 0 or -ENOMEM.
static int number_of(struct name_table *table, const char *name, uint32_t *number)
{
    *number = 0;
    if (!name || !*name)
        return 0;
    *number = hs_id_map__find(&table->numbers, (uintptr_t)name);
    if (*number != UINT32_MAX)
        return 0;
    const char **added = hs_array__add(&table->names, sizeof(*added));
    if (!added)
        return -ENOMEM;
    *added = name;
    *number = (uint32_t)table->names.count - 1;
    return hs_id_map__set(&table->numbers, (uintptr_t)name, *number);
}

static int add_frame(struct collection *all, const struct hs_frame *frame)
{
    struct hs_named_frame *added = hs_array__add(&all->frames, sizeof(*added));
    int result =
        added ? number_of(&all->functions, frame->kind == HS_FRAME_NAMED ? frame->function : NULL, &added->function)
              : -ENOMEM;
    if (!result)
        result = number_of(&all->sources, frame->file, &added->source);
    return result ? result : number_of(&all->libraries, frame->module, &added->library);
}

static int add_site(struct collection *all, const struct hs_frames *frames, uint32_t *number)
{
    struct hs_named_site *site = hs_array__add(&all->sites, sizeof(*site));
    if (!site)
        return -ENOMEM;
    *site = (struct hs_named_site){.first = (uint32_t)all->frames.count, .count = frames->count};
    *number = (uint32_t)all->sites.count - 1;
    int result = hs_id_map__set(&all->site_numbers, (uintptr_t)frames, *number);
    for (uint32_t i = 0; !result && i < frames->count; i++)
        result = add_frame(all, &frames->frame[i]);
    return result;
}

static bool is_frame(const struct hs_node *node)
{
    return !hs_node__is_cut(node) && !hs_node__is_guess(node);
}

static int name_node(struct collection *all, uint32_t node)
{
    static const struct hs_frame nameless = {.function = "", .module = "", .kind = HS_FRAME_ADDRESS};
    static const struct hs_frames nameless_frames = {&nameless, 1};
    if (!is_frame(&all->nodes[node]))
        return 0;
    const struct hs_frames *frames = all->symbols ? hs_trace_symbols__node(all->symbols, node) : &nameless_frames;
    all->site_of[node] = hs_id_map__find(&all->site_numbers, (uintptr_t)frames);
    return all->site_of[node] == UINT32_MAX ? add_site(all, frames, &all->site_of[node]) : 0;
}

static int name_nodes(struct collection *all, size_t first, size_t end)
{
    int result = 0;
    for (size_t node = first; !result && node < end; node++)
        result = name_node(all, (uint32_t)node);
    return result;
}

static int name_all(struct collection *all, pthread_mutex_t *lock, const int *cancel)
{
    int result = 0;
    for (size_t first = 1; !result && first < all->node_count; first += TURN) {
        size_t end = first + TURN < all->node_count ? first + TURN : all->node_count;
        if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
        if (lock)
            pthread_mutex_lock(lock);
        result = name_nodes(all, first, end);
        if (lock)
            pthread_mutex_unlock(lock);
    }
    return result;
}

// The elements with number 0.
static int start(struct collection *all)
{
    struct name_table *tables[] = {&all->functions, &all->sources, &all->libraries};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        const char **none = hs_array__add(&tables[i]->names, sizeof(*none));
        if (!none)
            return -ENOMEM;
        *none = NULL;
    }
    struct hs_named_site *none = hs_array__add(&all->sites, sizeof(*none));
    if (none)
        *none = (struct hs_named_site){0};
    all->site_of = calloc(all->node_count + 1, sizeof(*all->site_of));
    return none && all->site_of ? 0 : -ENOMEM;
}

static struct hs_name_list list_of(const struct name_table *table)
{
    return (struct hs_name_list){table->names.data, table->names.count};
}

int hs_names__collect(struct hs_names *names, const struct hs_store *store, struct hs_trace_symbols *symbols,
                      pthread_mutex_t *symbols_lock, const int *cancel)
{
    struct collection all = {.symbols = symbols};
    all.nodes = hs_store__nodes(store, &all.node_count);
    int result = start(&all);
    if (!result)
        result = name_all(&all, symbols_lock, cancel);
    hs_id_map__free(&all.functions.numbers);
    hs_id_map__free(&all.sources.numbers);
    hs_id_map__free(&all.libraries.numbers);
    hs_id_map__free(&all.site_numbers);
    *names = (struct hs_names){.functions = list_of(&all.functions),
                               .sources = list_of(&all.sources),
                               .libraries = list_of(&all.libraries),
                               .frames = all.frames.data,
                               .sites = all.sites.data,
                               .site_of = all.site_of,
                               .node_count = all.node_count};
    if (result)
        hs_names__free(names);
    return result;
}

void hs_names__free(struct hs_names *names)
{
    free(names->functions.name);
    free(names->sources.name);
    free(names->libraries.name);
    free(names->frames);
    free(names->sites);
    free(names->site_of);
    *names = (struct hs_names){0};
}
