// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/stack_totals_column.h"

#include "host/base/check.h"
#include "host/base/search.h"
#include "host/query/large_pages.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>

// Runs of this many totals, stored as a block for each field. An incomplete run is filled with totals without
// allocations.
#define RUN HS_PACKED_BLOCK

// Between two fields of a total in memory: not whole pages, or all fields would want the same lines of the cache.
#define FIELD_STEP (RUN + 8)

// Values that follow from others are not stored: freed amounts, and times of empty totals.
enum field {
    STACK,
    ALLOCATED_COUNT,
    ALLOCATED_BYTES,
    ALLOCATED_SLACK,
    LIVE_COUNT,
    LIVE_BYTES,
    LIVE_SLACK,
    PEAK_COUNT,
    PEAK_BYTES,
    PEAK_SLACK,
    TEMPORARY_COUNT,
    TEMPORARY_BYTES,
    CULLED_COUNT,
    CULLED_BYTES,
    SMALLEST_SIZE,
    LARGEST_SIZE, // above the least
    FIRST_TIME,
    LAST_TIME, // after the first
    LIFETIME_MIN,
    LIFETIME_MAX, // above the least
    LIFETIME_SUM, // above the most
    FIELDS
};

static bool was_freed(uint64_t freed_count, uint64_t culled_count)
{
    return freed_count > culled_count;
}

static void take_apart(const struct hs_total *total, uint64_t *field)
{
    bool has_rows = total->allocated_count > total->culled_count;
    bool has_lifetimes = was_freed(total->freed_count, total->culled_count);
    const uint64_t values[FIELDS] = {
        [STACK] = total->stack,
        [ALLOCATED_COUNT] = total->allocated_count,
        [ALLOCATED_BYTES] = total->allocated_bytes,
        [ALLOCATED_SLACK] = total->allocated_usable - total->allocated_bytes,
        [LIVE_COUNT] = total->live_count,
        [LIVE_BYTES] = total->live_bytes,
        [LIVE_SLACK] = total->live_usable - total->live_bytes,
        [PEAK_COUNT] = total->peak_count,
        [PEAK_BYTES] = total->peak_bytes,
        [PEAK_SLACK] = total->peak_usable - total->peak_bytes,
        [TEMPORARY_COUNT] = total->temporary_count,
        [TEMPORARY_BYTES] = total->temporary_bytes,
        [CULLED_COUNT] = total->culled_count,
        [CULLED_BYTES] = total->culled_bytes,
        [SMALLEST_SIZE] = has_rows ? total->size_min : 0,
        [LARGEST_SIZE] = has_rows ? total->size_max - total->size_min : 0,
        [FIRST_TIME] = has_rows ? total->first_time : 0,
        [LAST_TIME] = has_rows ? total->last_time - total->first_time : 0,
        [LIFETIME_MIN] = has_lifetimes ? total->lifetime_min : 0,
        [LIFETIME_MAX] = has_lifetimes ? total->lifetime_max - total->lifetime_min : 0,
        [LIFETIME_SUM] = total->lifetime_sum - total->lifetime_max,
    };
    for (unsigned i = 0; i < FIELDS; i++)
        field[(size_t)i * FIELD_STEP] = values[i];
}

static inline void put_together(const uint64_t *field, size_t step, struct hs_total *total)
{
#define FIELD(name) field[(size_t)(name)*step]
    uint64_t allocated = FIELD(ALLOCATED_BYTES), live = FIELD(LIVE_BYTES), peak = FIELD(PEAK_BYTES);
    uint64_t freed_count = FIELD(ALLOCATED_COUNT) - FIELD(LIVE_COUNT);
    bool has_rows = FIELD(ALLOCATED_COUNT) > FIELD(CULLED_COUNT);
    bool has_lifetimes = was_freed(freed_count, FIELD(CULLED_COUNT));
    uint64_t longest = FIELD(LIFETIME_MIN) + FIELD(LIFETIME_MAX);
    *total = (struct hs_total){
        .stack = (uint32_t)FIELD(STACK),
        .allocated_bytes = allocated,
        .allocated_usable = allocated + FIELD(ALLOCATED_SLACK),
        .allocated_count = FIELD(ALLOCATED_COUNT),
        .live_bytes = live,
        .live_usable = live + FIELD(LIVE_SLACK),
        .live_count = FIELD(LIVE_COUNT),
        .peak_bytes = peak,
        .peak_usable = peak + FIELD(PEAK_SLACK),
        .peak_count = FIELD(PEAK_COUNT),
        .temporary_bytes = FIELD(TEMPORARY_BYTES),
        .temporary_count = FIELD(TEMPORARY_COUNT),
        .freed_bytes = allocated - live,
        .freed_count = freed_count,
        .culled_bytes = FIELD(CULLED_BYTES),
        .culled_count = FIELD(CULLED_COUNT),
        .size_min = has_rows ? FIELD(SMALLEST_SIZE) : UINT64_MAX,
        .size_max = FIELD(SMALLEST_SIZE) + FIELD(LARGEST_SIZE),
        .first_time = has_rows ? FIELD(FIRST_TIME) : UINT64_MAX,
        .last_time = FIELD(FIRST_TIME) + FIELD(LAST_TIME),
        .lifetime_min = has_lifetimes ? FIELD(LIFETIME_MIN) : UINT64_MAX,
        .lifetime_max = longest,
        .lifetime_sum = longest + FIELD(LIFETIME_SUM),
    };
#undef FIELD
}

int hs_stack_totals_writer__create(struct hs_stack_totals_writer *writer, int directory_fd)
{
    writer->count = 0;
    writer->fields = calloc(FIELDS * FIELD_STEP, sizeof *writer->fields);
    int failed = hs_packed_writer__create(&writer->packed, directory_fd, "totals");
    return writer->fields ? failed : -ENOMEM;
}

static void write_run(struct hs_stack_totals_writer *writer)
{
    for (unsigned i = 0; i < FIELDS; i++)
        hs_packed_writer__add(&writer->packed, writer->fields + (size_t)i * FIELD_STEP, RUN);
    memset(writer->fields, 0, FIELDS * FIELD_STEP * sizeof *writer->fields);
    writer->count = 0;
}

int hs_stack_totals_writer__add(void *argument, const struct hs_total *total)
{
    struct hs_stack_totals_writer *writer = argument;
    HS_CHECK(writer->count < RUN);
    take_apart(total, writer->fields + writer->count);
    if (++writer->count == RUN)
        write_run(writer);
    return 0;
}

int hs_stack_totals_writer__finish(struct hs_stack_totals_writer *writer, int failed)
{
    if (!failed && writer->count)
        write_run(writer);
    free(writer->fields);
    if (!failed)
        return hs_packed_writer__finish(&writer->packed);
    hs_packed_writer__abandon(&writer->packed);
    return failed;
}

// ---- reading parts -------------------------------------------------------------------------------------------------

static uint64_t runs_of(const struct hs_packed *table)
{
    return table->count / (FIELDS * RUN);
}

// Stacks of a run: what fills the last one up has no allocations.
static size_t length_of(const struct hs_packed *table, uint64_t run)
{
    const uint64_t first = (run * FIELDS + ALLOCATED_COUNT) * RUN;
    return run + 1 < runs_of(table) ? RUN : HS_SEARCH(RUN, i, hs_packed__at(table, first + i));
}

const struct hs_packed *hs_stack_totals_column__for(const struct hs_store *store, const struct hs_filter *filter)
{
    const bool of_stacks = filter->domains == HS_FILTER_HEAP && hs_filter__asks_only_stacks(filter);
    return of_stacks ? hs_store__totals(store) : NULL;
}

size_t hs_stack_totals_column__count(const struct hs_packed *table)
{
    const uint64_t runs = runs_of(table);
    return runs ? (runs - 1) * RUN + length_of(table, runs - 1) : 0;
}

static uint64_t stack_at(const struct hs_packed *table, uint64_t place)
{
    return hs_packed__at(table, (place / RUN * FIELDS + STACK) * RUN + place % RUN);
}

bool hs_stack_totals_column__find(const struct hs_packed *table, uint32_t stack, struct hs_total *total)
{
    uint64_t field[FIELDS], low = 0, high = hs_stack_totals_column__count(table);
    const uint64_t count = high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (stack_at(table, middle) < stack)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || stack_at(table, low) != stack)
        return false;
    for (unsigned i = 0; i < FIELDS; i++)
        field[i] = hs_packed__at(table, (low / RUN * FIELDS + i) * RUN + low % RUN);
    put_together(field, 1, total);
    return true;
}

static enum field field_of(enum hs_total_key key)
{
    static const enum field fields[] = {[HS_TOTAL_LIVE_BYTES] = LIVE_BYTES,
                                        [HS_TOTAL_LIVE_COUNT] = LIVE_COUNT,
                                        [HS_TOTAL_PEAK_BYTES] = PEAK_BYTES,
                                        [HS_TOTAL_PEAK_COUNT] = PEAK_COUNT,
                                        [HS_TOTAL_ALLOCATED_BYTES] = ALLOCATED_BYTES,
                                        [HS_TOTAL_ALLOCATED_COUNT] = ALLOCATED_COUNT,
                                        [HS_TOTAL_TEMPORARY_BYTES] = TEMPORARY_BYTES,
                                        [HS_TOTAL_TEMPORARY_COUNT] = TEMPORARY_COUNT,
                                        [HS_TOTAL_STACK] = STACK};
    return fields[key];
}

int hs_stack_totals_column__each(const struct hs_packed *table, const struct hs_set *stacks,
                                 enum hs_total_key bytes_key, enum hs_total_key count_key, hs_stack_value_visitor visit,
                                 void *context)
{
    uint64_t stack[RUN], bytes[RUN], count[RUN];
    int result = 0;
    for (uint64_t run = 0; run < runs_of(table) && !result; run++) {
        const size_t length = length_of(table, run);
        hs_packed__read_block(table, run * FIELDS + STACK, stack);
        hs_packed__read_block(table, run * FIELDS + field_of(bytes_key), bytes);
        hs_packed__read_block(table, run * FIELDS + field_of(count_key), count);
        for (size_t i = 0; i < length && !result; i++)
            if (!stacks->words || hs_set__has(stacks, stack[i]))
                result = visit(context, (uint32_t)stack[i], bytes[i], count[i]);
    }
    return result;
}

// ---- all -----------------------------------------------------------------------------------------------------------

int hs_stack_totals_column__each_total(const struct hs_packed *table, const struct hs_set *stacks,
                                       hs_total_visitor visit, void *context)
{
    uint64_t *fields = malloc(FIELDS * FIELD_STEP * sizeof *fields);
    int result = fields ? 0 : -ENOMEM;
    for (uint64_t run = 0; run < runs_of(table) && !result; run++) {
        const size_t length = length_of(table, run);
        for (unsigned i = 0; i < FIELDS; i++)
            hs_packed__read_block(table, run * FIELDS + i, fields + (size_t)i * FIELD_STEP);
        for (size_t i = 0; i < length && !result; i++) {
            struct hs_total total;
            if (stacks->words && !hs_set__has(stacks, fields[(size_t)STACK * FIELD_STEP + i]))
                continue;
            put_together(fields + i, FIELD_STEP, &total);
            result = visit(context, &total);
        }
    }
    free(fields);
    return result;
}

int hs_stack_totals_column__read(const struct hs_packed *table, const struct hs_set *stacks, struct hs_totals *totals)
{
    totals->total = hs_large_pages__get(hs_stack_totals_column__count(table) * sizeof *totals->total);
    int failed = totals->total ? hs_stack_totals_column__each_total(table, stacks, hs_totals__take, totals) : -ENOMEM;
    if (!failed)
        totals->total = hs_large_pages__fit(totals->total, totals->count * sizeof *totals->total);
    return failed;
}
