// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/usage.h"

#include "host/base/array.h"
#include "host/base/search.h"
#include "host/query/page_set.h"
#include "host/query/samples.h"

#include <errno.h>
#include <stdlib.h>

// Blocks that are smaller have no mapping of their own.
#define LEAST_OWN_MAPPING (128u << 10)

// Longer runs of page faults are none: a trace may say anything.
#define MOST_FAULTED_PAGES (1u << 22)

// A part of a run of page faults; the run is divided by pages that are given back meanwhile.
enum { MOST_PIECES = 64 };

// At one instant in this order.
enum change_kind { CHANGE_REST, CHANGE_END, CHANGE_RETURN, CHANGE_FAULT };

struct usage_change {
    uint64_t time;
    uint64_t first, end; // pages
    uint64_t to, kept;   // END: the first `kept` of them go on at `to`
    enum change_kind kind;
};

struct changes {
    const struct hs_store *store;
    struct usage_change *change;
    size_t count, room;
    size_t returns; // the first ones, while faults are added
    uint64_t page;
};

// ---- what changes --------------------------------------------------------------------------------------------------

static int add_change(struct changes *changes, const struct usage_change *change)
{
    if (!HS_ARRAY_HAS_ROOM(changes->change, changes->count, changes->room))
        return -ENOMEM;
    changes->change[changes->count++] = *change;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct usage_change *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

static int add_returns(struct changes *changes)
{
    size_t count;
    int failed = 0;
    const struct hs_sample *sample = hs_store__samples(changes->store, &count);
    for (size_t i = 0; i < count && !failed; i++) {
        uint64_t first = sample[i].address / changes->page, size = sample[i].weight;
        uint64_t pages = size / changes->page + (size % changes->page != 0);
        struct usage_change change = {
            .time = sample[i].time, .first = first, .end = first + pages, .kind = CHANGE_RETURN};
        if (sample[i].kind == HS_SAMPLE_RETURNED && sample[i].address % changes->page == 0)
            failed = add_change(changes, &change);
    }
    if (changes->count)
        qsort(changes->change, changes->count, sizeof(*changes->change), compare);
    changes->returns = changes->count;
    return failed;
}

static size_t first_return_after(const struct changes *changes, uint64_t time)
{
    return HS_SEARCH(changes->returns, i, changes->change[i].time <= time);
}

// What of a run lies before pages of it are given back is not what lies after: its pages are spread evenly over its
// time.
static int add_run(struct changes *changes, struct usage_change run, uint64_t duration)
{
    uint64_t began = run.time > duration ? run.time - duration : 0, pages = run.end - run.first, begin = run.first;
    size_t i = first_return_after(changes, began);
    for (int pieces = 0; pieces < MOST_PIECES && i < changes->returns; pieces++, i++) {
        struct usage_change given = changes->change[i], piece = run;
        if (given.time > run.time)
            break;
        if (given.first >= run.end || given.end <= begin)
            continue;
        piece.time = given.time - 1; // at the same instant it would be later
        piece.end = begin + (uint64_t)((unsigned __int128)pages * (given.time - began) / (run.time - began));
        if (piece.end > run.first && add_change(changes, &piece))
            return -ENOMEM;
        run.first = piece.end > run.first ? piece.end : run.first;
    }
    return run.first < run.end ? add_change(changes, &run) : 0;
}

static int add_faults(struct changes *changes)
{
    size_t count;
    int failed = add_returns(changes);
    const struct hs_sample *sample = hs_store__samples(changes->store, &count);
    for (size_t i = 0; i < count && !failed; i++) {
        uint64_t first = sample[i].address / changes->page, pages = sample[i].weight / changes->page;
        struct usage_change change = {
            .time = sample[i].time, .first = first, .end = first + pages, .kind = CHANGE_FAULT};
        if (sample[i].kind == HS_SAMPLE_FAULT && pages <= MOST_FAULTED_PAGES)
            failed = add_run(changes, change, sample[i].duration);
    }
    return failed;
}

// Whole pages of a row.
static void set_pages(const struct changes *changes, uint64_t row, uint64_t *first, uint64_t *end)
{
    const struct hs_columns *columns = hs_store__columns(changes->store);
    uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
    uint64_t last = size > UINT64_MAX - address ? UINT64_MAX : address + size;
    *first = address / changes->page;
    *end = last / changes->page + (last % changes->page != 0);
}

// A mapping that grows or moves takes its pages with it.
static int add_end(void *context, const struct hs_store *store, uint64_t row)
{
    struct changes *changes = context;
    const struct hs_columns *columns = hs_store__columns(store);
    struct usage_change change = {.time = hs_row__free_time(columns, row), .kind = CHANGE_END};
    if (!hs_row__has_own_mapping(store, row))
        return 0;
    set_pages(changes, row, &change.first, &change.end);
    uint32_t next = hs_row__next(columns, row);
    if (next && hs_row__has_own_mapping(store, next)) {
        uint64_t end;
        set_pages(changes, next, &change.to, &end);
        change.kept = end - change.to;
    }
    return add_change(changes, &change);
}

// A part of a mapping that stays while the rest ends.
static int add_rest(void *context, const struct hs_store *store, uint64_t row)
{
    struct changes *changes = context;
    struct usage_change change = {.time = hs_row__time(hs_store__columns(store), row), .kind = CHANGE_REST};
    set_pages(changes, row, &change.first, &change.end);
    return add_change(changes, &change);
}

static int collect(struct changes *changes, const struct hs_query_control *control, struct hs_error *error)
{
    struct hs_filter filter;
    hs_filter__init(&filter);
    filter.freed_only = true;
    filter.domains = HS_FILTER_MAP;
    if (add_faults(changes))
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_query__each(changes->store, &filter, control, add_end, changes, error);
    filter.domains = HS_FILTER_HEAP;
    filter.size_min = LEAST_OWN_MAPPING;
    if (!result)
        result = hs_query__each(changes->store, &filter, control, add_end, changes, error);
    hs_filter__init(&filter);
    filter.domains = HS_FILTER_MAP;
    filter.flags_all = HS_ROW_SPLIT;
    if (!result)
        result = hs_query__each(changes->store, &filter, control, add_rest, changes, error);
    qsort(changes->change, changes->count, sizeof(*changes->change), compare);
    return result;
}

// ---- what is resident ----------------------------------------------------------------------------------------------

struct memory {
    struct hs_page_set resident;
    struct hs_page_set staying; // parts of mappings that are about to end
};

static bool end_mapping(struct memory *memory, const struct usage_change *change)
{
    uint64_t kept = change->kept < change->end - change->first ? change->kept : change->end - change->first;
    hs_page_set__remove(&memory->resident, change->first + kept, change->end);
    return !kept || change->to == change->first ||
           hs_page_set__move(&memory->resident, change->first, change->first + kept, change->to);
}

static bool apply(struct memory *memory, const struct usage_change *change)
{
    switch (change->kind) {
    case CHANGE_REST:
        return hs_page_set__add_members(&memory->staying, &memory->resident, change->first, change->end);
    case CHANGE_END:
        return end_mapping(memory, change);
    case CHANGE_RETURN:
        hs_page_set__remove(&memory->resident, change->first, change->end);
        return true;
    default:
        return hs_page_set__add(&memory->resident, change->first, change->end);
    }
}

// When all has ended that ends at this instant.
static bool let_stay(struct memory *memory)
{
    if (!memory->staying.count)
        return true;
    bool good = hs_page_set__add_members(&memory->resident, &memory->staying, 0, UINT64_MAX);
    hs_page_set__free(&memory->staying);
    return good;
}

static bool is_last_of_its_kind(const struct changes *changes, size_t i)
{
    const struct usage_change *next = &changes->change[i + 1];
    return i + 1 == changes->count || next->time != changes->change[i].time || next->kind >= CHANGE_RETURN;
}

// Up to the changes at `until`.
static bool advance(const struct changes *changes, size_t *at, uint64_t until, struct memory *memory,
                    struct hs_usage_point *point)
{
    uint64_t most = 0;
    for (; *at < changes->count && changes->change[*at].time < until; ++*at) {
        const struct usage_change *change = &changes->change[*at];
        if (!apply(memory, change) || (is_last_of_its_kind(changes, *at) && !let_stay(memory)))
            return false;
        if (change->kind == CHANGE_FAULT && point)
            point->faulted_bytes += (change->end - change->first) * changes->page;
        if (is_last_of_its_kind(changes, *at) && memory->resident.count > most)
            most = memory->resident.count;
    }
    if (point) {
        uint64_t before = point->resident_bytes_max;
        point->resident_bytes_end = memory->resident.count * changes->page;
        point->resident_bytes_max = most * changes->page > before ? most * changes->page : before;
    }
    return true;
}

static int follow_memory(const struct changes *changes, struct hs_usage *usage, struct hs_error *error)
{
    struct memory memory = {0};
    size_t at = 0;
    bool good = advance(changes, &at, usage->from, &memory, NULL);
    for (size_t i = 0; good && i < usage->count; i++) {
        usage->point[i].resident_bytes_max = memory.resident.count * changes->page;
        good = advance(changes, &at, usage->from + (i + 1) * usage->width, &memory, &usage->point[i]);
    }
    hs_page_set__free(&memory.resident);
    hs_page_set__free(&memory.staying);
    return good ? 0 : hs_error__set(error, ENOMEM, "out of memory");
}

// ---- CPU time ------------------------------------------------------------------------------------------------------

// The part of a sample's weight before `time`, if the weight is spread evenly over [start, start + length).
static uint64_t share_before(uint64_t time, uint64_t start, uint64_t length, uint64_t weight)
{
    if (time <= start)
        return 0;
    return time - start >= length ? weight : (uint64_t)((unsigned __int128)weight * (time - start) / length);
}

static void add_sample(struct hs_usage *usage, const struct hs_sample *sample)
{
    uint64_t end = sample->time + 1; // it is of this instant, too
    uint64_t length = sample->weight < end ? sample->weight : end;
    uint64_t start = end - length, last = usage->from + usage->count * usage->width;
    if (sample->time >= usage->from && sample->time < last)
        usage->point[(sample->time - usage->from) / usage->width].cpu_samples++;
    if (!length || end <= usage->from || start >= last)
        return;
    size_t i = start > usage->from ? (start - usage->from) / usage->width : 0;
    for (; i < usage->count && usage->from + i * usage->width < end; i++) {
        uint64_t low = usage->from + i * usage->width, high = low + usage->width;
        usage->point[i].cpu_ns +=
            share_before(high, start, length, sample->weight) - share_before(low, start, length, sample->weight);
    }
}

static int follow_processors(const struct hs_store *store, const struct hs_filter *filter,
                             const struct hs_query_control *control, struct hs_usage *usage, struct hs_error *error)
{
    struct hs_sample_list list;
    int result = hs_query__samples(store, HS_EVENTS_CPU, filter, &list, error);
    for (size_t i = 0; !result && i < list.count; i++) {
        add_sample(usage, list.sample[i]);
        if (control && control->cancel && __atomic_load_n(control->cancel, __ATOMIC_RELAXED))
            result = hs_error__set(error, ECANCELED, "cancelled");
    }
    hs_sample_list__free(&list);
    return result;
}

// ---- both ----------------------------------------------------------------------------------------------------------

int hs_query__usage(const struct hs_store *store, const struct hs_filter *filter, uint64_t from, uint64_t width,
                    size_t count, const struct hs_query_control *control, struct hs_usage *usage,
                    struct hs_error *error)
{
    struct changes changes = {.store = store, .page = hs_store__page_size(store)};
    *usage = (struct hs_usage){.from = from, .width = width, .count = count};
    usage->point = calloc(count + 1, sizeof(*usage->point));
    int result = usage->point ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    if (!result)
        result = follow_processors(store, filter, control, usage, error);
    if (!result && hs_events__are_in(HS_EVENTS_TOUCHED, store))
        result = collect(&changes, control, error);
    if (!result)
        result = follow_memory(&changes, usage, error);
    free(changes.change);
    if (result)
        hs_usage__free(usage);
    return result;
}

typedef int (*residence_visitor)(void *context, uint64_t time, uint64_t first, uint64_t end,
                                 const struct hs_page_set *resident);

// The changes of one instant that belong together.
static int visit_changes(const struct usage_change *change, size_t count, const struct memory *memory,
                         residence_visitor visit, void *context)
{
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        failed = visit(context, change[i].time, change[i].first, change[i].end, &memory->resident);
        if (!failed && change[i].kept && change[i].to != change[i].first)
            failed = visit(context, change[i].time, change[i].to, change[i].to + change[i].kept, &memory->resident);
    }
    return failed;
}

static int visit_all(const struct changes *changes, struct memory *memory, const struct hs_query_control *control,
                     residence_visitor visit, void *context)
{
    size_t first = 0;
    int failed = 0;
    for (size_t i = 0; i < changes->count && !failed; i++) {
        if (!apply(memory, &changes->change[i]))
            return -ENOMEM;
        if (!is_last_of_its_kind(changes, i))
            continue;
        failed =
            let_stay(memory) ? visit_changes(&changes->change[first], i + 1 - first, memory, visit, context) : -ENOMEM;
        first = i + 1;
        if (control && control->cancel && __atomic_load_n(control->cancel, __ATOMIC_RELAXED))
            failed = -ECANCELED;
    }
    return failed;
}

int hs_query__each_residence(const struct hs_store *store, const struct hs_query_control *control,
                             residence_visitor visit, void *context, struct hs_error *error)
{
    struct changes changes = {.store = store, .page = hs_store__page_size(store)};
    struct memory memory = {0};
    int result = collect(&changes, control, error);
    if (!result) {
        result = visit_all(&changes, &memory, control, visit, context);
        if (result)
            hs_error__set(error, -result, "%s", result == -ECANCELED ? "cancelled" : "out of memory");
    }
    free(changes.change);
    hs_page_set__free(&memory.resident);
    hs_page_set__free(&memory.staying);
    return result;
}

int hs_query__resident_pages(const struct hs_store *store, uint64_t time, const struct hs_query_control *control,
                             struct hs_page_set *pages, struct hs_error *error)
{
    struct changes changes = {.store = store, .page = hs_store__page_size(store)};
    struct memory memory = {0};
    size_t at = 0;
    int result = collect(&changes, control, error);
    if (!result && !advance(&changes, &at, time < UINT64_MAX ? time + 1 : time, &memory, NULL))
        result = hs_error__set(error, ENOMEM, "out of memory");
    free(changes.change);
    hs_page_set__free(&memory.staying);
    *pages = memory.resident;
    return result;
}

struct resident_peak {
    uint64_t time, pages;
};

static int note_peak(void *context, uint64_t time, uint64_t first, uint64_t end, const struct hs_page_set *resident)
{
    struct resident_peak *peak = context;
    (void)first;
    (void)end;
    if (resident->count > peak->pages)
        *peak = (struct resident_peak){time, resident->count};
    return 0;
}

int hs_query__resident_peak(const struct hs_store *store, const struct hs_query_control *control, uint64_t *time,
                            uint64_t *bytes, struct hs_error *error)
{
    struct resident_peak peak = {0, 0};
    int result = hs_query__each_residence(store, control, note_peak, &peak, error);
    *time = peak.time;
    *bytes = peak.pages * hs_store__page_size(store);
    return result;
}

void hs_usage__free(struct hs_usage *usage)
{
    free(usage->point);
    *usage = (struct hs_usage){0};
}
