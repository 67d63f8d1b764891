// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/map_list.h"

#include "host/base/search.h"
#include "host/query/page_set.h"
#include "host/query/samples.h"
#include "host/query/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_USAGES = 1024 };

// How many rows that ended at one instant are looked through for the one that another is left of.
enum { MOST_ENDED = 4096 };

// ---- what is left of what ------------------------------------------------------------------------------------------

static int compare_rows(const void *left, const void *right)
{
    const struct hs_map_region *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_ends(const void *left, const void *right)
{
    const struct hs_map_region *a = left, *b = right;
    if (a->ended != b->ended)
        return a->ended < b->ended ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_roots(const void *left, const void *right)
{
    const struct hs_map_region *a = left, *b = right;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool covers(const struct hs_columns *columns, uint32_t whole, uint32_t part)
{
    uint64_t address = hs_row__address(columns, whole), from = hs_row__address(columns, part);
    return address <= from && from - address < hs_row__size(columns, whole) &&
           hs_row__size(columns, part) <= hs_row__size(columns, whole) - (from - address);
}

// The last row before it that ended when this one began, and that it lies in. `ended` is by end.
static uint32_t parent_of(const struct hs_columns *columns, const struct hs_map_region *ended, size_t count,
                          uint32_t row)
{
    uint64_t time = hs_row__time(columns, row);
    const size_t end = HS_SEARCH(count, i, ended[i].ended < time || (ended[i].ended == time && ended[i].row < row));
    for (size_t i = end; i-- && end - i < MOST_ENDED && ended[i].ended == time;)
        if (covers(columns, ended[i].row, row))
            return ended[i].row;
    return row;
}

static struct hs_map_region *find(struct hs_map_region *regions, size_t count, uint32_t row)
{
    const struct hs_map_region wanted = {.row = row};
    return bsearch(&wanted, regions, count, sizeof(*regions), compare_rows);
}

static void find_roots(const struct hs_columns *columns, struct hs_map_region *regions, struct hs_map_region *ended,
                       size_t count)
{
    qsort(ended, count, sizeof(*ended), compare_ends);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = regions[i].row;
        bool is_left = hs_row__flags(columns, row) & HS_ROW_SPLIT;
        uint32_t parent = is_left ? parent_of(columns, ended, count, row) : row;
        regions[i].root = parent == row ? row : find(regions, i, parent)->root;
    }
}

static void add_region(struct hs_map_list *list, const struct hs_columns *columns, size_t number,
                       const struct hs_map_region *region)
{
    struct hs_map *map = list->count ? &list->map[list->count - 1] : NULL;
    list->region[number] = region->row;
    if (!map || map->row != region->root) {
        map = &list->map[list->count++];
        *map = (struct hs_map){.row = region->root, .last = region->row, .first = number, .step = 1};
    }
    map->regions++;
    uint64_t end = hs_row__free_time(columns, region->row);
    if (end >= map->end) {
        map->end = end;
        map->last = region->row;
    }
}

static int make_maps(struct hs_map_list *list, const struct hs_store *store, const struct hs_rows *rows)
{
    const struct hs_columns *columns = hs_store__columns(store);
    struct hs_map_region *ended = calloc(rows->count + 1, sizeof(*ended));
    list->by_row = calloc(rows->count + 1, sizeof(*list->by_row));
    list->map = calloc(rows->count + 1, sizeof(*list->map));
    list->region = calloc(rows->count + 1, sizeof(*list->region));
    list->regions = rows->count;
    bool good = ended && list->by_row && list->map && list->region;
    for (size_t i = 0; good && i < rows->count; i++)
        list->by_row[i] = ended[i] = (struct hs_map_region){
            .row = rows->row[i], .root = rows->row[i], .ended = hs_row__free_time(columns, rows->row[i])};
    if (good) {
        qsort(list->by_row, rows->count, sizeof(*list->by_row), compare_rows);
        find_roots(columns, list->by_row, ended, rows->count);
        memcpy(ended, list->by_row, rows->count * sizeof(*ended));
        qsort(ended, rows->count, sizeof(*ended), compare_roots);
    }
    for (size_t i = 0; good && i < rows->count; i++)
        add_region(list, columns, i, &ended[i]);
    free(ended);
    return good ? 0 : -ENOMEM;
}

int hs_map_list__create(struct hs_map_list *list, const struct hs_store *store, const struct hs_query_control *control,
                        struct hs_error *error)
{
    struct hs_filter filter;
    struct hs_rows rows;
    *list = (struct hs_map_list){.knows_resident = hs_events__are_in(HS_EVENTS_TOUCHED, store)};
    hs_filter__init(&filter);
    filter.domains = HS_FILTER_MAP;
    int result = hs_query__rows(store, &filter, HS_ROW_BY_TIME, false, 0, UINT64_MAX, control, &rows, error);
    if (result)
        return result;
    result = make_maps(list, store, &rows);
    hs_rows__free(&rows);
    return result ? hs_error__set(error, ENOMEM, "out of memory") : 0;
}

void hs_map_list__free(struct hs_map_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->map[i].usage);
    free(list->map);
    free(list->region);
    free(list->by_row);
    *list = (struct hs_map_list){0};
}

static int compare_map(const void *left, const void *right)
{
    const struct hs_map *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

struct hs_map *hs_map_list__of(const struct hs_map_list *list, uint32_t row)
{
    const struct hs_map_region *region = find(list->by_row, list->regions, row);
    const struct hs_map wanted = {.row = region ? region->root : row};
    return region ? bsearch(&wanted, list->map, list->count, sizeof(wanted), compare_map) : NULL;
}

// ---- what is resident ----------------------------------------------------------------------------------------------

struct following {
    struct hs_map_list *list;
    const struct hs_columns *columns;
    struct hs_map **by_begin; // the wanted ones
    struct hs_map **active;   // those of them that are there
    size_t wanted, begun, actives;
    uint64_t page;
    bool history;
};

static uint64_t begin_of(const struct following *following, const struct hs_map *map)
{
    return hs_row__time(following->columns, map->row);
}

static uint64_t page_behind(uint64_t address, uint64_t page)
{
    return address / page + (address % page != 0);
}

// If there are too many, every second one is removed, and from then on the same share of new ones is left out.
static int note_usage(struct hs_map *map, const struct hs_map_usage *usage)
{
    if (map->skipped++ % map->step)
        return 0;
    if (!map->usage && !(map->usage = calloc(MOST_USAGES, sizeof(*map->usage))))
        return -ENOMEM;
    if (map->usages == MOST_USAGES) {
        for (uint32_t i = 0; i < MOST_USAGES / 2; i++)
            map->usage[i] = map->usage[2 * i];
        map->usages /= 2;
        map->step *= 2;
    }
    map->usage[map->usages++] = *usage;
    return 0;
}

static int look_at_map(const struct following *following, struct hs_map *map, uint64_t time,
                       const struct hs_page_set *resident)
{
    const struct hs_columns *columns = following->columns;
    const uint64_t page = following->page;
    struct hs_map_usage usage = {.time = time};
    for (size_t i = 0; i < map->regions; i++) {
        uint32_t row = following->list->region[map->first + i];
        uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
        if (hs_row__time(columns, row) > time || hs_row__free_time(columns, row) <= time)
            continue;
        usage.mapped += size;
        usage.resident +=
            page * hs_page_set__count(resident, address / page,
                                      page_behind(size > UINT64_MAX - address ? UINT64_MAX : address + size, page));
    }
    map->peak_resident = usage.resident > map->peak_resident ? usage.resident : map->peak_resident;
    return following->history ? note_usage(map, &usage) : 0;
}

static bool lies_in(const struct following *following, const struct hs_map *map, uint64_t first, uint64_t end)
{
    uint64_t address = hs_row__address(following->columns, map->row);
    uint64_t size = hs_row__size(following->columns, map->row);
    return address / following->page < end &&
           page_behind(size > UINT64_MAX - address ? UINT64_MAX : address + size, following->page) > first;
}

static int look_at_change(void *context, uint64_t time, uint64_t first, uint64_t end,
                          const struct hs_page_set *resident)
{
    struct following *following = context;
    int failed = 0;
    while (following->begun < following->wanted && begin_of(following, following->by_begin[following->begun]) <= time)
        following->active[following->actives++] = following->by_begin[following->begun++];
    for (size_t i = 0; i < following->actives && !failed; i++) {
        struct hs_map *map = following->active[i];
        if (map->end < time)
            following->active[i--] = following->active[--following->actives];
        else if (lies_in(following, map, first, end))
            failed = look_at_map(following, map, time, resident);
    }
    return failed;
}

int hs_map_list__follow(struct hs_map_list *list, const struct hs_store *store, bool history,
                        const struct hs_query_control *control, struct hs_error *error)
{
    struct following following = {
        .list = list, .columns = hs_store__columns(store), .page = hs_store__page_size(store), .history = history};
    if (!list->knows_resident)
        return 0;
    following.by_begin = calloc(list->count + 1, sizeof(*following.by_begin));
    following.active = calloc(list->count + 1, sizeof(*following.active));
    bool good = following.by_begin && following.active;
    // Rows are in the order of their begins, and so are maps.
    for (size_t i = 0; good && i < list->count; i++)
        if (list->map[i].wanted)
            following.by_begin[following.wanted++] = &list->map[i];
    int result = good ? hs_query__each_residence(store, control, look_at_change, &following, error)
                      : hs_error__set(error, ENOMEM, "out of memory");
    free(following.by_begin);
    free(following.active);
    return result;
}

const struct hs_mapping *hs_mapping_of(const struct hs_store *store, uint64_t row)
{
    static const struct hs_mapping none = {.fd = -1};
    size_t count = 0;
    const struct hs_mapping *mappings = hs_store__mappings(store, &count);
    uint32_t detail = hs_row__detail(hs_store__columns(store), row);
    return detail < count ? &mappings[detail] : &none;
}
