// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /fragmentation_timeline: how much of the main heap's span no block takes, at the end of each second. The span reaches
// from the lowest live block to the highest: a bit for each place where a block may begin, and bits above for each word
// of bits that is not empty.
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

static uint64_t second_of(const struct hs_store *store, uint64_t time)
{
    return hs_store__realtime_ns(store, time) / NS;
}

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
    if (!heap->used)
        return 0;
    uint32_t first = heap->row[outermost(heap, false)], last = heap->row[outermost(heap, true)];
    uint64_t start = hs_row__address(heap->columns, first) - heap->columns->pointer_size;
    uint64_t end = hs_row__address(heap->columns, last) - heap->columns->pointer_size + chunk_of(heap, last);
    uint64_t span = end - start;
    return span > heap->used ? span - heap->used : 0;
}

// ---- seconds --------------------------------------------------------------------------------------------------------

// Rows of the heap in the order of time, those first that have ended when their second ends left out; and those that
// end later by the second in which they do.
struct order {
    struct hs_rows rows;
    uint32_t *ended;
    size_t *ended_from; // by second
};

static bool accept_main(void *context, const struct hs_store *store, uint64_t row)
{
    return hs_main_heap__has(context, store, row);
}

static void note(struct heap *heap, struct fragmentation *result, const struct order *order)
{
    heap->lowest = UINT64_MAX;
    for (size_t i = 0; i < order->rows.count; i++) {
        uint32_t row = order->rows.row[i];
        uint64_t address = hs_row__address(heap->columns, row), freed = hs_row__free_time(heap->columns, row);
        heap->lowest = address < heap->lowest ? address : heap->lowest;
        heap->highest = address > heap->highest ? address : heap->highest;
        result->active[second_of(heap->store, hs_row__time(heap->columns, row)) - result->first] = true;
        if (freed != HS_NEVER)
            result->active[second_of(heap->store, freed) - result->first] = true;
    }
}

static bool outlives_its_second(const struct heap *heap, uint32_t row)
{
    uint64_t freed = hs_row__free_time(heap->columns, row);
    return freed == HS_NEVER ||
           second_of(heap->store, freed) != second_of(heap->store, hs_row__time(heap->columns, row));
}

// Sorts by counting. Behind this ended_from[s] is where the rows of second s begin, and [count] the end.
static int sort_ends(const struct heap *heap, const struct fragmentation *result, struct order *order)
{
    order->ended = malloc((order->rows.count + 1) * sizeof(*order->ended));
    order->ended_from = calloc(result->count + 2, sizeof(*order->ended_from));
    if (!order->ended || !order->ended_from)
        return -ENOMEM;
    size_t *from = order->ended_from + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < order->rows.count; i++) {
            uint64_t freed = hs_row__free_time(heap->columns, order->rows.row[i]);
            if (freed == HS_NEVER || !outlives_its_second(heap, order->rows.row[i]))
                continue;
            size_t second = second_of(heap->store, freed) - result->first;
            if (pass)
                order->ended[from[second]++] = order->rows.row[i];
            else
                from[second]++;
        }
        size_t sum = 0;
        for (size_t i = 0; !pass && i < result->count; i++) {
            size_t count = from[i];
            from[i] = sum;
            sum += count;
        }
    }
    return 0;
}

static void sweep(struct heap *heap, struct fragmentation *result, const struct order *order)
{
    size_t next = 0;
    for (size_t second = 0; second < result->count; second++) {
        for (size_t i = order->ended_from[second]; i < order->ended_from[second + 1]; i++)
            put(heap, order->ended[i], false);
        for (; next < order->rows.count; next++) {
            uint32_t row = order->rows.row[next];
            if (second_of(heap->store, hs_row__time(heap->columns, row)) != result->first + second)
                break;
            if (outlives_its_second(heap, row))
                put(heap, row, true);
        }
        result->value[second] = lost(heap);
    }
}

static int work_out(struct heap *heap, struct fragmentation *result, struct order *order)
{
    uint64_t last = second_of(heap->store, hs_store__summary(heap->store)->end_time);
    result->first = second_of(heap->store, 0);
    result->count = last - result->first + 1;
    if (result->count > (uint64_t)1 << 26)
        return -EOVERFLOW;
    result->value = calloc(result->count, sizeof(*result->value));
    result->active = calloc(result->count, sizeof(*result->active));
    if (!result->value || !result->active)
        return -ENOMEM;
    note(heap, result, order);
    if (!order->rows.count)
        return 0;
    heap->unit = 2 * heap->columns->pointer_size;
    heap->places = (heap->highest - heap->lowest) / heap->unit + 1;
    int failed = reserve(heap);
    if (!failed)
        failed = sort_ends(heap, result, order);
    if (!failed)
        sweep(heap, result, order);
    return failed;
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
    struct order order = {0};
    struct hs_filter filter;
    struct fragmentation *result = calloc(1, sizeof(*result));
    if (!result)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = result;
    question->free_work = free_fragmentation;
    hs_main_heap__find(question->store, &heap.bounds);
    hs_filter__init(&filter);
    filter.accept = accept_main;
    filter.context = &heap.bounds;
    int failed = hs_query__rows(question->store, &filter, HS_ROW_BY_TIME, false, 0, UINT64_MAX, &question->control,
                                &order.rows, &question->error);
    if (failed)
        return failed;
    failed = work_out(&heap, result, &order);
    hs_rows__free(&order.rows);
    free(order.ended);
    free(order.ended_from);
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
