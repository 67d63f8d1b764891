// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /fragmentation_timeline: how much of the main heap's span no block takes, at the end of each second. The span reaches
// from the lowest live block to the highest: a bit for each place where a block may begin, and bits above for each word
// of bits that is not empty.
#include "host/base/array.h"
#include "host/query/match.h"
#include "host/query/scan.h"
#include "host/rest/answers.h"
#include "host/rest/timeline_seconds.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NS 1000000000u
enum { LEVELS = 6 };

struct heap {
    const struct hs_store *store;
    const struct hs_columns *columns;
    struct hs_main_heap bounds;
    uint64_t lowest, highest; // addresses of blocks
    unsigned unit;
    uint64_t *level[LEVELS]; // [0]: a bit for each place
    size_t words[LEVELS];
    uint32_t *row; // by place
    size_t places;
    uint64_t used;
};

struct fragmentation {
    uint64_t first; // second
    uint64_t *value;
    bool *active;
    size_t count;
};

// ---- the bits -------------------------------------------------------------------------------------------------------

static void *zeroed(size_t bytes)
{
    void *memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int reserve(struct heap *heap)
{
    size_t bits = heap->places;
    heap->row = zeroed(heap->places * sizeof(*heap->row));
    bool good = heap->row;
    for (unsigned i = 0; i < LEVELS && good; i++) {
        heap->words[i] = bits = (bits + 63) / 64;
        heap->level[i] = zeroed(bits * sizeof(uint64_t));
        good = heap->level[i];
    }
    return good ? 0 : -ENOMEM;
}

static void release(struct heap *heap)
{
    if (heap->row)
        munmap(heap->row, heap->places * sizeof(*heap->row) + 1);
    for (unsigned i = 0; i < LEVELS; i++)
        if (heap->level[i])
            munmap(heap->level[i], heap->words[i] * sizeof(uint64_t) + 1);
}

static void set(struct heap *heap, size_t place)
{
    for (unsigned i = 0; i < LEVELS; i++, place /= 64)
        heap->level[i][place / 64] |= (uint64_t)1 << place % 64;
}

static void clear(struct heap *heap, size_t place)
{
    for (unsigned i = 0; i < LEVELS; i++, place /= 64) {
        heap->level[i][place / 64] &= ~((uint64_t)1 << place % 64);
        if (heap->level[i][place / 64])
            return;
    }
}

static size_t outermost(const struct heap *heap, bool last)
{
    size_t at = 0;
    for (unsigned i = LEVELS; i-- > 0;) {
        uint64_t word = heap->level[i][at];
        at = at * 64 + (unsigned)(last ? 63 - __builtin_clzll(word) : __builtin_ctzll(word));
    }
    return at;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

static uint64_t chunk_of(const struct heap *heap, uint64_t row)
{
    return hs_row__size(heap->columns, row) + hs_row__slack(heap->columns, row) + heap->columns->pointer_size;
}

static void put(struct heap *heap, uint32_t row, bool in)
{
    size_t place = (hs_row__address(heap->columns, row) - heap->lowest) / heap->unit;
    heap->used += in ? chunk_of(heap, row) : 0 - chunk_of(heap, row);
    if (in)
        set(heap, place);
    else
        clear(heap, place);
    heap->row[place] = row;
}

static uint64_t lost(const struct heap *heap)
{
    if (!heap->used || !heap->level[LEVELS - 1][0])
        return 0;
    uint32_t first = heap->row[outermost(heap, false)], last = heap->row[outermost(heap, true)];
    uint64_t start = hs_row__address(heap->columns, first) - heap->columns->pointer_size;
    uint64_t end = hs_row__address(heap->columns, last) - heap->columns->pointer_size + chunk_of(heap, last);
    uint64_t span = end - start;
    return span > heap->used ? span - heap->used : 0;
}

// ---- seconds --------------------------------------------------------------------------------------------------------

// A second of the wall clock, as far as that was not set within: many rows are of the same one.
struct second {
    uint64_t from, until; // of the trace's time; until is not in it
    uint64_t number;
};

static uint64_t second_in(struct second *second, const struct hs_store *store, uint64_t time)
{
    if (time >= second->from && time < second->until)
        return second->number;
    uint64_t from, until;
    const uint64_t shown = hs_store__realtime_during(store, time, &from, &until), behind = shown % NS;
    second->number = shown / NS;
    second->from = time - from > behind ? time - behind : from;
    second->until = until - time > NS - behind ? time + (NS - behind) : until;
    return second->number;
}

// Rows that end in a later second than they begin: only they are there at the end of one.
struct survivors {
    uint32_t *row;
    size_t count, room;
};

struct fragmentation_looker {
    struct hs_matcher *matcher;
    struct survivors survivors;
    struct second begin, end; // those that were looked up last
    uint64_t lowest, highest;
};

struct fragmentation_looking {
    const struct heap *heap;
    struct fragmentation *result;
    struct fragmentation_looker *looker; // by worker
    unsigned workers;
};

static int add_survivor(struct survivors *survivors, uint32_t row)
{
    if (!HS_ARRAY_HAS_ROOM(survivors->row, survivors->count, survivors->room))
        return -ENOMEM;
    survivors->row[survivors->count++] = row;
    return 0;
}

// Place in the result; its count: not within the trace, whose clock was set.
static size_t place_of(const struct fragmentation *result, uint64_t second)
{
    return second >= result->first && second - result->first < result->count ? second - result->first : result->count;
}

static bool is_active(const struct fragmentation *result, size_t second)
{
    return second == result->count || __atomic_load_n(&result->active[second], __ATOMIC_RELAXED);
}

static void activate(struct fragmentation *result, size_t second)
{
    if (second < result->count)
        __atomic_store_n(&result->active[second], true, __ATOMIC_RELAXED);
}

static int look_at(const struct fragmentation_looking *looking, struct fragmentation_looker *looker, uint32_t row,
                   uint64_t time, uint64_t freed, uint64_t address)
{
    const struct heap *heap = looking->heap;
    const size_t begin = place_of(looking->result, second_in(&looker->begin, heap->store, time));
    const size_t end =
        freed == HS_NEVER ? begin : place_of(looking->result, second_in(&looker->end, heap->store, freed));
    const bool survives = freed == HS_NEVER || end > begin;
    const bool tells =
        survives || !is_active(looking->result, begin) || address < looker->lowest || address > looker->highest;
    if (address < heap->bounds.from || address >= heap->bounds.to || !tells ||
        !hs_main_heap__has(&heap->bounds, heap->store, row))
        return 0;
    looker->lowest = address < looker->lowest ? address : looker->lowest;
    looker->highest = address > looker->highest ? address : looker->highest;
    activate(looking->result, begin);
    activate(looking->result, end);
    return survives ? add_survivor(&looker->survivors, row) : 0;
}

static int look_at_rows(void *context, unsigned worker, uint64_t first, uint64_t end)
{
    const struct fragmentation_looking *looking = context;
    struct fragmentation_looker *looker = &looking->looker[worker];
    struct hs_matcher *matcher = looker->matcher;
    int failed = 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK) {
        const size_t count = hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        const uint64_t *time = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
        const uint64_t *freed = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
        const uint64_t *address = hs_column_block__column(&matcher->block, HS_BLOCK_ADDRESS);
        for (size_t n = 0; n < count && !failed; n++) {
            const size_t i = matcher->place[n];
            failed = look_at(looking, looker, (uint32_t)(row + i), time[i], freed[i], address[i]);
        }
    }
    return failed;
}

// Sorts by counting: the survivors of second s are those from from[s] to from[s + 1]. With `ends` by when they end,
// without those that do not.
static uint32_t *sort_survivors(const struct fragmentation_looking *looking, bool ends, size_t **from)
{
    const struct heap *heap = looking->heap;
    const struct fragmentation *result = looking->result;
    size_t count = 0, sum = 0;
    for (unsigned worker = 0; worker < looking->workers; worker++)
        count += looking->looker[worker].survivors.count;
    uint32_t *sorted = malloc((count + 1) * sizeof(*sorted));
    size_t *at = calloc(result->count + 2, sizeof(*at));
    *from = at;
    for (int pass = 0; sorted && at && pass < 2; pass++) {
        struct second second = {0};
        for (unsigned worker = 0; worker < looking->workers; worker++) {
            const struct survivors *survivors = &looking->looker[worker].survivors;
            for (size_t i = 0; i < survivors->count; i++) {
                const uint32_t row = survivors->row[i];
                const uint64_t time = ends ? hs_row__free_time(heap->columns, row) : hs_row__time(heap->columns, row);
                const size_t place =
                    time == HS_NEVER ? result->count : place_of(result, second_in(&second, heap->store, time));
                if (place == result->count)
                    continue;
                if (pass)
                    sorted[at[place + 1]++] = row;
                else
                    at[place + 1]++;
            }
        }
        for (size_t i = 0; !pass && i < result->count; i++) {
            const size_t here = at[i + 1];
            at[i + 1] = sum;
            sum += here;
        }
    }
    if (sorted && at)
        return sorted;
    free(sorted);
    return NULL;
}

static void sweep(struct heap *heap, struct fragmentation *result, const uint32_t *begins, const size_t *begins_from,
                  const uint32_t *ends, const size_t *ends_from)
{
    for (size_t second = 0; second < result->count; second++) {
        for (size_t i = ends_from[second]; i < ends_from[second + 1]; i++)
            put(heap, ends[i], false);
        for (size_t i = begins_from[second]; i < begins_from[second + 1]; i++)
            put(heap, begins[i], true);
        result->value[second] = lost(heap);
    }
}

static int sweep_survivors(struct heap *heap, const struct fragmentation_looking *looking)
{
    size_t *begins_from, *ends_from = NULL;
    uint32_t *begins = sort_survivors(looking, false, &begins_from);
    uint32_t *ends = begins ? sort_survivors(looking, true, &ends_from) : NULL;
    if (ends)
        sweep(heap, looking->result, begins, begins_from, ends, ends_from);
    const int failed = ends ? 0 : -ENOMEM;
    free(begins);
    free(ends);
    free(begins_from);
    free(ends_from);
    return failed;
}

static int make_result(const struct heap *heap, struct fragmentation *result)
{
    const uint64_t last = hs_store__realtime_ns(heap->store, hs_store__summary(heap->store)->end_time) / NS;
    result->first = hs_store__realtime_ns(heap->store, 0) / NS;
    result->count = last - result->first + 1;
    if (last < result->first || result->count > (uint64_t)1 << 26)
        return -EOVERFLOW;
    result->value = calloc(result->count, sizeof(*result->value));
    result->active = calloc(result->count, sizeof(*result->active));
    return result->value && result->active ? 0 : -ENOMEM;
}

static int make_lookers(struct fragmentation_looking *looking, const struct hs_filter *filter)
{
    looking->looker = calloc(looking->workers, sizeof(*looking->looker));
    for (unsigned worker = 0; looking->looker && worker < looking->workers; worker++) {
        looking->looker[worker].lowest = UINT64_MAX;
        looking->looker[worker].matcher = hs_matcher__create(looking->heap->store, filter);
        if (!looking->looker[worker].matcher)
            return -ENOMEM;
    }
    return looking->looker ? 0 : -ENOMEM;
}

static void free_lookers(struct fragmentation_looking *looking)
{
    for (unsigned worker = 0; looking->looker && worker < looking->workers; worker++) {
        hs_matcher__destroy(looking->looker[worker].matcher);
        free(looking->looker[worker].survivors.row);
    }
    free(looking->looker);
}

static int work_out(struct heap *heap, struct fragmentation_looking *looking)
{
    heap->lowest = UINT64_MAX;
    for (unsigned worker = 0; worker < looking->workers; worker++) {
        const struct fragmentation_looker *looker = &looking->looker[worker];
        heap->lowest = looker->lowest < heap->lowest ? looker->lowest : heap->lowest;
        heap->highest = looker->highest > heap->highest ? looker->highest : heap->highest;
    }
    if (heap->lowest > heap->highest)
        return 0;
    heap->unit = 2 * heap->columns->pointer_size;
    heap->places = (heap->highest - heap->lowest) / heap->unit + 1;
    int failed = reserve(heap);
    return failed ? failed : sweep_survivors(heap, looking);
}

static void free_fragmentation(void *work)
{
    struct fragmentation *result = work;
    free(result->value);
    free(result->active);
    free(result);
}

int hs_prepare__fragmentation(struct hs_question *question)
{
    struct heap heap = {.store = question->store, .columns = hs_store__columns(question->store)};
    struct hs_filter filter;
    struct fragmentation *result = calloc(1, sizeof(*result));
    if (!result)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = result;
    question->free_work = free_fragmentation;
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_query__refuse_aggregate(&question->error);
    hs_main_heap__find(question->store, &heap.bounds);
    hs_filter__init(&filter);
    struct fragmentation_looking looking = {
        .heap = &heap, .result = result, .workers = hs_scan__workers(question->store, &question->control)};
    const struct hs_scan scan = {question->store, &filter, &question->control, looking.workers, look_at_rows, &looking,
                                 false,           0};
    int failed = make_result(&heap, result);
    if (!failed)
        failed = make_lookers(&looking, &filter);
    if (!failed && heap.bounds.to)
        failed = hs_scan__run(&scan, NULL);
    if (!failed)
        failed = work_out(&heap, &looking);
    free_lookers(&looking);
    release(&heap);
    return failed ? hs_error__set(&question->error, -failed, "%s", strerror(-failed)) : 0;
}

int hs_answer__fragmentation(struct hs_question *question, FILE *out)
{
    const struct fragmentation *result = question->work;
    struct hs_json json;
    size_t points = 0;
    uint64_t *number = hs_seconds__points(result->active, result->count, &points);
    if (!number)
        return -ENOMEM;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "xs");
    for (size_t i = 0; i < points; i++)
        hs_json__number(&json, NULL, result->first + number[i]);
    hs_json__close_array(&json);
    hs_json__open_array(&json, "fragmentation");
    for (size_t i = 0; i < points; i++)
        hs_json__number(&json, NULL, result->value[number[i]]);
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    free(number);
    return 0;
}
