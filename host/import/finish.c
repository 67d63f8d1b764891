// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The steps that need all rows: their ends, zones, the rows at the peak, chains.
#include "host/import/finish.h"

#include "host/base/numbers.h"
#include "host/import/sample_weights.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

// The packed columns of the rows' starts, read back, and a block of each.
struct finish_reading {
    struct hs_columns columns;
    uint64_t time[HS_PACKED_BLOCK], row_ends[HS_PACKED_BLOCK];
};

static int finish_starts(struct hs_builder *builder)
{
    int failed = hs_builder__write_rest(builder), result;
    struct hs_packed_writer *const writers[] = {&builder->time,  &builder->address, &builder->size,  &builder->slack,
                                                &builder->stack, &builder->stream,  &builder->detail};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if ((result = hs_packed_writer__finish(writers[i])) && !failed)
            failed = result;
    return failed;
}

static int finish_row_ends(struct hs_builder *builder)
{
    int failed = 0, result;
    struct hs_packed_writer *const writers[] = {&builder->free_time, &builder->free_stack, &builder->free_stream,
                                                &builder->state};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if ((result = hs_packed_writer__finish(writers[i])) && !failed)
            failed = result;
    return failed;
}

static struct hs_zone *zone_of(struct hs_builder *builder, uint64_t row)
{
    return (struct hs_zone *)builder->zones.data + row / HS_ZONE_ROWS;
}

// The ends of a block: into its zone, and as distances from the block's first time, 0 for never.
static void add_row_ends(struct hs_builder *builder, struct finish_reading *reading, uint64_t first, size_t count)
{
    struct hs_zone *zone = zone_of(builder, first);
    const uint64_t *time = reading->time;
    uint64_t *ended = reading->row_ends;
    hs_row_ends__read_block(&builder->row_ends, HS_ROW_ENDS_TIME, first / HS_PACKED_BLOCK, count, ended);
    uint64_t free_min = zone->free_min, free_max = zone->free_max;
    uint64_t lifetime_min = zone->lifetime_min, lifetime_max = zone->lifetime_max;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = hs_builder__end_of_row(ended[i]);
        bool never = end == HS_NEVER;
        free_min = hs_number__least(free_min, end);
        free_max = hs_number__most(free_max, end);
        lifetime_min = hs_number__least(lifetime_min, never ? UINT64_MAX : end - time[i]);
        lifetime_max = hs_number__most(lifetime_max, never ? 0 : end - time[i]);
        ended[i] = never ? 0 : end - time[0] + 1;
    }
    zone->free_min = free_min;
    zone->free_max = free_max;
    zone->lifetime_min = lifetime_min;
    zone->lifetime_max = lifetime_max;
    hs_packed_writer__add(&builder->free_time, ended, count);
}

// Rows that ended in the nanosecond of the peak are known by number, in their order.
static void mark_noted_rows(const struct hs_builder *builder, uint64_t first, size_t count, size_t *noted,
                            uint64_t *state)
{
    const uint32_t *row = builder->at_peak.data;
    for (; *noted < builder->at_peak.count && row[*noted] < first + count; ++*noted)
        state[row[*noted] - first] |= HS_ROW_AT_PEAK << 3;
}

static void add_states(struct hs_builder *builder, uint64_t first, size_t count, size_t *noted)
{
    uint64_t ended[HS_PACKED_BLOCK], state[HS_PACKED_BLOCK];
    const uint64_t peak_time = builder->summary->peak_time;
    uint32_t kinds = 0, flags = 0;
    hs_row_ends__read_block(&builder->row_ends, HS_ROW_ENDS_TIME, first / HS_PACKED_BLOCK, count, ended);
    hs_row_ends__read_block(&builder->row_ends, HS_ROW_ENDS_STATE, first / HS_PACKED_BLOCK, count, state);
    mark_noted_rows(builder, first, count, noted, state);
    for (size_t i = 0; i < count; i++) {
        uint8_t kind = state[i] & 7;
        if (first + i < builder->peak_rows && hs_builder__end_of_row(ended[i]) > peak_time &&
            hs_kind_domain(kind) == HS_DOMAIN_HEAP)
            state[i] |= HS_ROW_AT_PEAK << 3;
        kinds |= 1u << kind;
        flags |= (uint32_t)(state[i] >> 3);
    }
    zone_of(builder, first)->kinds |= kinds;
    zone_of(builder, first)->flags |= flags;
    hs_packed_writer__add(&builder->state, state, count);
}

static void add_numbers(struct hs_builder *builder, enum hs_row_ends_column column, struct hs_packed_writer *writer,
                        uint64_t first, size_t count)
{
    uint64_t values[HS_PACKED_BLOCK];
    hs_row_ends__read_block(&builder->row_ends, column, first / HS_PACKED_BLOCK, count, values);
    hs_packed_writer__add(writer, values, count);
}

static int compare_rows(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// The steps that need no times, which run in parallel to the others. Of the zones they write only kinds and flags.
struct others {
    struct hs_builder *builder;
    bool threaded;
    pthread_t thread;
    int failed;
};

static void *build_others(void *argument)
{
    struct others *others = argument;
    struct hs_builder *builder = others->builder;
    size_t noted = 0;
    for (uint64_t first = 0; first < builder->rows; first += HS_PACKED_BLOCK) {
        size_t count = (size_t)hs_number__least(builder->rows - first, HS_PACKED_BLOCK);
        add_states(builder, first, count, &noted);
        add_numbers(builder, HS_ROW_ENDS_STACK, &builder->free_stack, first, count);
        add_numbers(builder, HS_ROW_ENDS_STREAM, &builder->free_stream, first, count);
    }
    others->failed = hs_stack_peaks__write(&builder->stack_peaks, builder->directory_fd);
    return NULL;
}

static void start_others(struct others *others, struct hs_builder *builder)
{
    *others = (struct others){.builder = builder};
    if (builder->at_peak.count)
        qsort(builder->at_peak.data, builder->at_peak.count, sizeof(uint32_t), compare_rows);
    // For few rows it is not worth it.
    others->threaded = builder->rows > HS_ZONE_ROWS && !pthread_create(&others->thread, NULL, build_others, others);
    if (!others->threaded)
        build_others(others);
}

static int wait_for_others(struct others *others)
{
    if (others->threaded)
        pthread_join(others->thread, NULL);
    return others->failed;
}

static int build_row_ends(struct hs_builder *builder, struct finish_reading *reading)
{
    int failed = hs_packed__open(&reading->columns.time, builder->directory_fd, "time", builder->rows);
    for (uint64_t first = 0; first < builder->rows && !failed; first += HS_PACKED_BLOCK) {
        size_t count = hs_packed__read_block(&reading->columns.time, first / HS_PACKED_BLOCK, reading->time);
        add_row_ends(builder, reading, first, count);
        hs_packed__drop_pages_behind(&reading->columns.time, first / HS_PACKED_BLOCK);
        hs_row_ends__drop_pages_behind(&builder->row_ends, first / HS_PACKED_BLOCK);
    }
    return failed;
}

// Chains are in the order of their times, more or less, and so are the rows that are read for them.
#define DROP_CHAINS 16384

static int finish_chains(struct hs_builder *builder, struct finish_reading *reading)
{
    struct hs_chain *chain = builder->chains.data;
    struct hs_columns *columns = &reading->columns;
    int failed = hs_packed__open(&columns->size, builder->directory_fd, "size", builder->rows);
    for (size_t i = 1; i < builder->chains.count && !failed; i++) {
        chain[i].first_time = hs_row__time(columns, chain[i].first);
        chain[i].first_size = hs_row__size(columns, chain[i].first);
        chain[i].last_size = hs_row__size(columns, chain[i].last);
        chain[i].free_time = hs_builder__end_of_row(hs_row_ends__time_at(&builder->row_ends, chain[i].last));
        if (i % DROP_CHAINS == 0) {
            hs_packed__drop_pages(&columns->time, 0, UINT64_MAX);
            hs_packed__drop_pages(&columns->size, 0, UINT64_MAX);
        }
    }
    hs_packed__close(&columns->size);
    return failed;
}

static int compare_links(const void *left, const void *right)
{
    const struct hs_chain_link *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

int hs_write_array(int directory_fd, const char *name, const struct hs_array *array, size_t element)
{
    struct hs_column_file file;
    int failed = hs_column_file__create(&file, directory_fd, name, element);
    if (!failed)
        failed = hs_column_file__reserve(&file, array->count);
    if (failed) {
        hs_column_file__abandon(&file);
        return failed;
    }
    if (array->count)
        memcpy(file.data, array->data, array->count * element);
    return hs_column_file__finish(&file, array->count);
}

static int write_arrays(struct hs_builder *builder)
{
    const struct {
        const char *name;
        const struct hs_array *array;
        size_t element;
    } files[] = {
        {"zones", &builder->zones, sizeof(struct hs_zone)},
        {"links", &builder->links, sizeof(struct hs_chain_link)},
        {"chains", &builder->chains, sizeof(struct hs_chain)},
        {"pools", &builder->pools, sizeof(uint64_t)},
        {"mappings", &builder->mappings, sizeof(struct hs_mapping)},
        {"samples", &builder->samples, sizeof(struct hs_sample)},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = hs_write_array(builder->directory_fd, files[i].name, files[i].array, files[i].element);
    return failed;
}

int hs_builder__finish_rows(struct hs_builder *builder, struct hs_store_head *head)
{
    struct hs_summary *summary = builder->summary;
    struct finish_reading *reading = calloc(1, sizeof *reading);
    struct others others;
    int failed = finish_starts(builder);
    if (!failed)
        failed = hs_row_ends__settle(&builder->row_ends);
    if (failed || !reading) {
        free(reading);
        return failed ? failed : -ENOMEM;
    }
    start_others(&others, builder);
    failed = build_row_ends(builder, reading);
    if (!failed)
        failed = finish_chains(builder, reading);
    hs_packed__close(&reading->columns.time);
    free(reading);
    summary->live = builder->live_total;
    summary->map_live = builder->map_total;
    summary->capped_numbers +=
        builder->block_allowance.capped + builder->map_allowance.capped + builder->sample_allowance.capped;
    if (summary->end_time < builder->now)
        summary->end_time = builder->now;
    if (builder->links.count)
        qsort(builder->links.data, builder->links.count, sizeof(struct hs_chain_link), compare_links);
    if (!failed)
        failed = hs_timeline_builder__finish(builder, head);
    if (!failed)
        failed = hs_samples__weigh(builder->samples.data, &builder->samples.count, summary->end_time, summary);
    int result = wait_for_others(&others);
    failed = failed ? failed : result;
    if (!failed)
        failed = write_arrays(builder);
    head->rows = builder->rows;
    return failed ? failed : finish_row_ends(builder);
}
