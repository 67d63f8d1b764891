// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /maps: mappings as things that were there for a time; /map/N: all about one of them.
#include "host/base/numbers.h"
#include "host/base/path.h"
#include "host/rest/answers.h"
#include "host/rest/map_list.h"
#include "host/rest/paging.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct hs_rest_parameter hs_maps_parameters[] = {
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "timestamp address size peak_rss lifetime rights name",
     .default_value = "timestamp",
     .help = "the order of the mappings; peak_rss is the same as timestamp if page faults were not recorded; rights: "
             "first by readable, then by writable, executable and shared"},
    {.name = "id", .kind = HS_REST_NUMBER, .help = "only the mapping with this number, regardless of the filter"},
    {.name = "peak_rss_min",
     .kind = HS_REST_NUMBER,
     .help = "only mappings that had more resident bytes than this at some time"},
    {.name = "peak_rss_max",
     .kind = HS_REST_NUMBER,
     .help = "only mappings that always had fewer resident bytes than this"},
    {.name = "readable",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help = "only readable mappings, or only others"},
    {.name = "writable",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help = "only writable mappings, or only others"},
    {.name = "executable",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help = "only executable mappings, or only others"},
    {.name = "jemalloc",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false yes no",
     .help = "only mappings that jemalloc made, or only others"},
    {.name = "bytehound",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help =
         "accepted for older clients: only mappings of the recorder itself, which are never listed, or only others"},
    {.name = "with_regions", .kind = HS_REST_FLAG, .default_value = "false", .help = "also the parts of each mapping"},
    {.name = "with_usage_history",
     .kind = HS_REST_FLAG,
     .default_value = "false",
     .help = "also the resident bytes of each mapping over time; empty if page faults were not recorded"},
    {.name = "generate_graphs",
     .kind = HS_REST_FLAG,
     .default_value = "false",
     .help = "accepted for older clients; no pictures are made, and the URLs are null"},
    {0},
};

struct maps {
    struct hs_map_list list;
    bool regions, history;        // are written of each
    const struct hs_map **chosen; // in order
    size_t total;
    struct {
        bool known;
        struct hs_total sum; // of the heap's blocks that began in the one map
    } blocks;
};

static void free_maps(void *work)
{
    struct maps *maps = work;
    hs_map_list__free(&maps->list);
    free(maps->chosen);
    free(maps);
}

// ---- which ---------------------------------------------------------------------------------------------------------

static bool is_wanted(const struct hs_question *question, const char *name, bool value)
{
    const char *word = hs_question__text(question, name);
    return !word || !strcmp(word, value ? "only_true" : "only_false") || !strcmp(word, value ? "yes" : "no");
}

// The innermost function of the stack is jemalloc's.
static bool is_jemalloc(const struct hs_store *store, uint64_t row)
{
    size_t count = 0;
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_node *nodes = hs_store__nodes(store, &count);
    const uint32_t stack = hs_row__stack(columns, row);
    if (!stack || stack >= count)
        return false;
    const struct hs_module *module = hs_store__module_at(store, nodes[stack].pc - 1, hs_row__time(columns, row));
    return module && !strncmp(hs_path__name(module->path), "libjemalloc", 11);
}

static bool accept_map(void *context, const struct hs_store *store, uint64_t row)
{
    const struct hs_question *question = context;
    uint32_t protection = hs_mapping_of(store, row)->protection;
    return is_wanted(question, "readable", protection & PROT_READ) &&
           is_wanted(question, "writable", protection & PROT_WRITE) &&
           is_wanted(question, "executable", protection & PROT_EXEC) && is_wanted(question, "bytehound", false) &&
           (!hs_question__text(question, "jemalloc") || is_wanted(question, "jemalloc", is_jemalloc(store, row)));
}

// A map is wanted when one of its regions is.
static int want(void *context, const struct hs_store *store, uint64_t row)
{
    (void)store;
    struct hs_map *map = hs_map_list__of(context, (uint32_t)row);
    if (map)
        map->wanted = true;
    return 0;
}

static int choose(struct hs_question *question, struct hs_map_list *list)
{
    if (hs_question__text(question, "id")) {
        uint64_t id = hs_question__number(question, "id", UINT64_MAX);
        for (size_t i = 0; i < list->count; i++)
            list->map[i].wanted = list->map[i].row == id;
        return 0;
    }
    question->filter.domains = HS_FILTER_MAP;
    question->filter.accept = accept_map;
    question->filter.context = question;
    return hs_query__each(question->store, &question->filter, &question->control, want, list, &question->error);
}

static bool has_peak(const struct hs_question *question, const struct hs_map_list *list, const struct hs_map *map)
{
    bool asked = hs_question__text(question, "peak_rss_min") || hs_question__text(question, "peak_rss_max");
    if (!asked || !list->knows_resident)
        return !asked;
    uint64_t least = hs_question__number(question, "peak_rss_min", 0);
    return (!hs_question__text(question, "peak_rss_min") || map->peak_resident > least) &&
           map->peak_resident < hs_question__number(question, "peak_rss_max", UINT64_MAX);
}

// ---- in which order ------------------------------------------------------------------------------------------------

struct maps_order {
    const struct hs_store *store;
    const char *key;
    bool descending;
};

static const char *name_of(const struct hs_store *store, uint32_t row)
{
    const struct hs_mapping *mapping = hs_mapping_of(store, row);
    if (hs_row__kind(hs_store__columns(store), row) == HS_KIND_BRK)
        return "[heap]";
    return mapping->fd < 0 || mapping->map_flags & MAP_ANONYMOUS ? "[anon]" : "[file]";
}

static uint64_t rights_of(const struct hs_mapping *mapping)
{
    return (mapping->protection & PROT_READ ? 8u : 0u) | (mapping->protection & PROT_WRITE ? 4u : 0u) |
           (mapping->protection & PROT_EXEC ? 2u : 0u) | (mapping->map_flags & MAP_SHARED ? 1u : 0u);
}

static uint64_t number_of(const struct maps_order *order, const struct hs_map *map)
{
    const struct hs_columns *columns = hs_store__columns(order->store);
    if (!strcmp(order->key, "address"))
        return hs_row__address(columns, map->row);
    if (!strcmp(order->key, "size"))
        return hs_row__size(columns, map->row);
    if (!strcmp(order->key, "peak_rss"))
        return map->peak_resident;
    if (!strcmp(order->key, "lifetime"))
        return map->end == HS_NEVER ? UINT64_MAX : map->end - hs_row__time(columns, map->row);
    if (!strcmp(order->key, "rights"))
        return rights_of(hs_mapping_of(order->store, map->row));
    return 0;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct maps_order *order = context;
    const struct hs_map *a = *(const struct hs_map *const *)left, *b = *(const struct hs_map *const *)right;
    int result = !strcmp(order->key, "name") ? strcmp(name_of(order->store, a->row), name_of(order->store, b->row))
                                             : hs_number__compare(number_of(order, a), number_of(order, b));
    result = result ? result : hs_number__compare(a->row, b->row);
    return order->descending ? -result : result;
}

static int put_in_order(struct hs_question *question, struct maps *maps)
{
    struct maps_order order = {.store = question->store,
                               .key = hs_question__text(question, "sort_by"),
                               .descending = !strcmp(hs_question__text(question, "order"), "dsc")};
    maps->chosen = calloc(maps->list.count + 1, sizeof(*maps->chosen));
    if (!maps->chosen)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    for (size_t i = 0; i < maps->list.count; i++)
        if (maps->list.map[i].wanted && has_peak(question, &maps->list, &maps->list.map[i]))
            maps->chosen[maps->total++] = &maps->list.map[i];
    qsort_r(maps->chosen, maps->total, sizeof(*maps->chosen), compare, &order);
    return 0;
}

int hs_prepare__maps(struct hs_question *question)
{
    struct maps *maps = calloc(1, sizeof(*maps));
    if (!maps)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = maps;
    question->free_work = free_maps;
    maps->regions = hs_question__flag(question, "with_regions");
    maps->history = hs_question__flag(question, "with_usage_history");
    int result = hs_map_list__create(&maps->list, question->store, &question->control, &question->error);
    if (!result)
        result = choose(question, &maps->list);
    if (!result)
        result = hs_map_list__follow(&maps->list, question->store, maps->history, &question->control, &question->error);
    if (!result)
        result = put_in_order(question, maps);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

// ---- the answer ----------------------------------------------------------------------------------------------------

static void write_source(struct hs_json *json, const struct hs_question *question, uint32_t row, bool ends)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    uint32_t stack = ends ? hs_row__free_stack(columns, row) : hs_row__stack(columns, row);
    uint64_t time = ends ? hs_row__free_time(columns, row) : hs_row__time(columns, row);
    hs_json__open_object(json, "source");
    hs_write__times(json, "timestamp", question->store, time);
    hs_json__number(
        json, "thread",
        hs_write__thread(question->store, ends ? hs_row__free_stream(columns, row) : hs_row__stream(columns, row)));
    hs_json__number(json, "backtrace_id", stack);
    hs_write__backtrace(json, "backtrace", question, stack);
    hs_json__close_object(json);
}

static void write_protection(struct hs_json *json, const struct hs_mapping *mapping)
{
    hs_json__boolean(json, "is_readable", mapping->protection & PROT_READ);
    hs_json__boolean(json, "is_writable", mapping->protection & PROT_WRITE);
    hs_json__boolean(json, "is_executable", mapping->protection & PROT_EXEC);
    hs_json__boolean(json, "is_shared", mapping->map_flags & MAP_SHARED);
}

// What of [from, to) was unmapped when a region ended.
static void write_gone(struct hs_json *json, const struct hs_question *question, uint32_t row, uint64_t from,
                       uint64_t to)
{
    if (from >= to)
        return;
    hs_json__open_object(json, NULL);
    hs_json__number(json, "address", from);
    hs_json__number(json, "length", to - from);
    if (hs_row__free_stack(hs_store__columns(question->store), row))
        write_source(json, question, row, true);
    hs_json__close_object(json);
}

// The regions of a map that begin when another one of it ends lie in that one: they are what is left. They are by row,
// and of one unmapping by address.
static void write_region_end(struct hs_json *json, const struct hs_question *question, const struct hs_map *map,
                             uint32_t row)
{
    const struct maps *maps = question->work;
    const struct hs_columns *columns = hs_store__columns(question->store);
    uint64_t at = hs_row__address(columns, row), end = at + hs_row__size(columns, row);
    hs_json__open_object(json, "deallocation");
    hs_write__times(json, "timestamp", question->store, hs_row__free_time(columns, row));
    hs_json__open_array(json, "sources");
    for (size_t i = 0; i < map->regions; i++) {
        uint32_t rest = maps->list.region[map->first + i];
        uint64_t address = hs_row__address(columns, rest);
        if (rest <= row || hs_row__time(columns, rest) != hs_row__free_time(columns, row) || address < at ||
            address >= end)
            continue;
        write_gone(json, question, row, at, address);
        at = address + hs_row__size(columns, rest);
    }
    write_gone(json, question, row, at, end);
    hs_json__close_array(json);
    hs_json__close_object(json);
}

static void write_region(struct hs_json *json, const struct hs_question *question, const struct hs_map *map,
                         uint32_t row)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    const struct hs_mapping *mapping = hs_mapping_of(question->store, row);
    uint64_t before = hs_row__address(columns, row) - hs_row__address(columns, map->row);
    hs_json__open_object(json, NULL);
    hs_json__number(json, "address", hs_row__address(columns, row));
    hs_write__hexadecimal(json, "address_s", hs_row__address(columns, row));
    hs_write__times(json, "timestamp", question->store, hs_row__time(columns, row));
    hs_json__number(json, "size", hs_row__size(columns, row));
    if (hs_row__free_time(columns, row) != HS_NEVER)
        write_region_end(json, question, map, row);
    write_protection(json, mapping);
    hs_json__number(json, "file_offset", mapping->offset + (mapping->fd < 0 ? 0 : before));
    hs_json__number(json, "inode", 0);
    hs_json__number(json, "major", 0);
    hs_json__number(json, "minor", 0);
    hs_json__string(json, "name", name_of(question->store, row));
    hs_json__close_object(json);
}

static void write_regions(struct hs_json *json, const struct hs_question *question, const struct hs_map *map)
{
    const struct maps *maps = question->work;
    hs_json__open_array(json, "regions");
    for (size_t i = 0; i < map->regions; i++)
        write_region(json, question, map, maps->list.region[map->first + i]);
    hs_json__close_array(json);
}

// Page faults do not say whether a page is dirty or shared: what is resident counts as anonymous, or of a file as
// clean.
static void write_usage(struct hs_json *json, const struct hs_question *question, const struct hs_map *map)
{
    const struct hs_mapping *mapping = hs_mapping_of(question->store, map->row);
    const bool is_file = mapping->fd >= 0 && !(mapping->map_flags & MAP_ANONYMOUS);
    const bool is_shared = mapping->map_flags & MAP_SHARED;
    hs_json__open_array(json, "usage_history");
    for (uint32_t i = 0; i < map->usages; i++) {
        const uint64_t resident = map->usage[i].resident;
        hs_json__open_object(json, NULL);
        hs_write__times(json, "timestamp", question->store, map->usage[i].time);
        hs_json__number(json, "address_space", map->usage[i].mapped);
        hs_json__number(json, "anonymous", is_file ? 0 : resident);
        hs_json__number(json, "shared_clean", is_file && is_shared ? resident : 0);
        hs_json__number(json, "shared_dirty", 0);
        hs_json__number(json, "private_clean", is_file && !is_shared ? resident : 0);
        hs_json__number(json, "private_dirty", 0);
        hs_json__number(json, "swap", 0);
        hs_json__number(json, "rss", resident);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
}

static void write_map_end(struct hs_json *json, const struct hs_question *question, const struct hs_map *map)
{
    hs_json__open_object(json, "deallocation");
    hs_write__time(json, "timestamp", question->store, map->end);
    if (hs_row__free_stack(hs_store__columns(question->store), map->last))
        write_source(json, question, map->last, true);
    hs_json__close_object(json);
}

static void write_blocks(struct hs_json *json, const struct hs_total *sum)
{
    static const enum hs_cost costs[] = {HS_COST_LIVE, HS_COST_PEAK, HS_COST_ALLOCATED, HS_COST_TEMPORARY};
    hs_json__open_object(json, "blocks");
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        hs_json__open_array(json, hs_cost__name(costs[i]));
        hs_json__number(json, NULL, hs_cost__bytes(sum, costs[i]));
        hs_json__number(json, NULL, hs_cost__blocks(sum, costs[i]));
        hs_json__close_array(json);
    }
    hs_json__close_object(json);
}

static void write_map(struct hs_json *json, const struct hs_question *question, const struct hs_map *map)
{
    const struct maps *maps = question->work;
    const struct hs_columns *columns = hs_store__columns(question->store);
    const uint32_t row = map->row;
    hs_json__open_object(json, NULL);
    hs_json__number(json, "id", row);
    hs_json__number(json, "address", hs_row__address(columns, row));
    hs_write__hexadecimal(json, "address_s", hs_row__address(columns, row));
    hs_write__times(json, "timestamp", question->store, hs_row__time(columns, row));
    hs_json__number(json, "size", hs_row__size(columns, row));
    if (hs_row__stack(columns, row))
        write_source(json, question, row, false);
    if (map->end != HS_NEVER)
        write_map_end(json, question, map);
    write_protection(json, hs_mapping_of(question->store, row));
    hs_json__string(json, "name", name_of(question->store, row));
    if (maps->list.knows_resident)
        hs_json__number(json, "peak_rss", map->peak_resident);
    else
        hs_json__null(json, "peak_rss");
    hs_json__null(json, "graph_preview_url");
    hs_json__null(json, "graph_url");
    if (maps->regions)
        write_regions(json, question, map);
    if (maps->history)
        write_usage(json, question, map);
    if (maps->blocks.known)
        write_blocks(json, &maps->blocks.sum);
    hs_json__close_object(json);
}

int hs_answer__maps(struct hs_question *question, FILE *out)
{
    const struct maps *maps = question->work;
    struct hs_paging paging = hs_paging__start(question, out, maps->total);
    struct hs_json json;
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "maps");
    while (hs_paging__next(&paging, &i))
        write_map(&json, question, maps->chosen[i]);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", maps->total);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}

// ---- one of them ----------------------------------------------------------------------------------------------------

static struct hs_map *find_map(const struct hs_question *question, struct hs_map_list *list)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(question->value[1], &end, 10);
    const bool is_number = *question->value[1] >= '0' && *question->value[1] <= '9' && !*end && !errno;
    for (size_t i = 0; is_number && i < list->count; i++)
        if (list->map[i].row == number)
            return &list->map[i];
    return NULL;
}

// As from_map has them.
static int add_blocks(struct hs_question *question, struct maps *maps, const struct hs_map *map)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    const uint64_t size = hs_row__size(columns, map->row);
    struct hs_filter filter;
    struct hs_totals totals;
    hs_filter__init(&filter);
    filter.address_min = hs_row__address(columns, map->row);
    filter.address_max = filter.address_min + (size ? size - 1 : 0);
    filter.time_min = hs_row__time(columns, map->row);
    filter.time_max = hs_row__free_time(columns, map->row);
    int result = hs_query__totals(question->store, &filter, &question->control, &totals, &question->error);
    if (result)
        return result;
    maps->blocks.known = true;
    maps->blocks.sum = totals.sum;
    hs_totals__free(&totals);
    return 0;
}

int hs_prepare__map(struct hs_question *question)
{
    struct maps *maps = calloc(1, sizeof(*maps));
    if (!maps)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = maps;
    question->free_work = free_maps;
    maps->regions = maps->history = true;
    int result = hs_map_list__create(&maps->list, question->store, &question->control, &question->error);
    struct hs_map *map = result ? NULL : find_map(question, &maps->list);
    if (!result && !map)
        return hs_error__set(&question->error, ENOENT, "there is no mapping '%s'; /maps lists them",
                             question->value[1]);
    if (!result) {
        map->wanted = true;
        result = hs_map_list__follow(&maps->list, question->store, true, &question->control, &question->error);
    }
    if (!result)
        result = add_blocks(question, maps, map);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

int hs_answer__map(struct hs_question *question, FILE *out)
{
    struct maps *maps = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    write_map(&json, question, find_map(question, &maps->list));
    return 0;
}
