// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/totals_table.h"

#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

// Runs of so many totals as a block of each field. A run that is not full ends in totals without allocations.
#define RUN HS_PACKED_BLOCK

// What is not stored follows from the rest: what was freed, and times where there is nothing to have one.
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
        field[(size_t)i * RUN] = values[i];
}

static void put_together(const uint64_t *field, struct hs_total *total)
{
#define FIELD(name) field[(size_t)(name)*RUN]
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

static int write_totals(const struct hs_totals *totals, int directory_fd)
{
    struct hs_packed_writer writer;
    uint64_t *fields = malloc(FIELDS * RUN * sizeof *fields);
    int failed = hs_packed_writer__create(&writer, directory_fd, "totals");
    if (!fields)
        failed = -ENOMEM;
    for (size_t first = 0; !failed && first < totals->count; first += RUN) {
        memset(fields, 0, FIELDS * RUN * sizeof *fields);
        for (size_t i = 0; i < RUN && first + i < totals->count; i++)
            take_apart(&totals->total[first + i], fields + i);
        for (unsigned i = 0; i < FIELDS; i++)
            hs_packed_writer__add(&writer, fields + (size_t)i * RUN, RUN);
    }
    free(fields);
    if (!failed)
        return hs_packed_writer__finish(&writer);
    hs_packed_writer__abandon(&writer);
    return failed;
}

int hs_totals__write_table(const struct hs_store *store, int directory_fd)
{
    struct hs_totals totals;
    int failed = hs_query__totals(store, NULL, NULL, &totals, NULL);
    if (failed)
        return failed;
    failed = write_totals(&totals, directory_fd);
    hs_totals__free(&totals);
    return failed;
}

// Large pages: much memory is written at once.
static struct hs_total *room_for(size_t count)
{
    const size_t page = (size_t)2 << 20;
    size_t size = (count * sizeof(struct hs_total) + page) & ~(page - 1);
    struct hs_total *room = aligned_alloc(page, size);
    if (room)
        madvise(room, size, MADV_HUGEPAGE);
    return room;
}

int hs_totals__read_table(const struct hs_store *store, const struct hs_set *stacks, struct hs_totals *totals)
{
    const struct hs_packed *table = hs_store__totals(store);
    if (!table)
        return -ENOENT;
    uint64_t runs = table->count / (FIELDS * RUN);
    uint64_t *fields = malloc(FIELDS * RUN * sizeof *fields);
    totals->total = room_for(runs * RUN);
    if (!fields || !totals->total) {
        free(fields);
        return -ENOMEM;
    }
    for (uint64_t run = 0; run < runs; run++) {
        for (unsigned i = 0; i < FIELDS; i++)
            hs_packed__read_block(table, run * FIELDS + i, fields + (size_t)i * RUN);
        for (size_t i = 0; i < RUN && fields[(size_t)ALLOCATED_COUNT * RUN + i]; i++) {
            if (stacks->words && !hs_set__has(stacks, fields[(size_t)STACK * RUN + i]))
                continue;
            struct hs_total *total = &totals->total[totals->count++];
            put_together(fields + i, total);
            hs_total__add(&totals->sum, total);
        }
    }
    free(fields);
    return 0;
}
