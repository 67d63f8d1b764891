// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What needs all rows: zones, the rows at the peak, sums.
#include "host/import/finish.h"

#include <errno.h>
#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void empty_zone(struct hs_zone *zone)
{
    *zone = (struct hs_zone){.time_min = UINT64_MAX,
                             .free_min = UINT64_MAX,
                             .size_min = UINT64_MAX,
                             .address_min = UINT64_MAX,
                             .lifetime_min = UINT64_MAX,
                             .stack_min = UINT32_MAX};
}

static void add_to_zone(struct builder *builder, struct hs_zone *zone, uint64_t row)
{
    uint64_t time = column_u64(&builder->time)[row], end = column_u64(&builder->free_time)[row];
    uint64_t size = column_u64(&builder->size)[row], address = column_u64(&builder->address)[row];
    uint32_t stack = column_u32(&builder->stack)[row];
    zone->time_min = least(zone->time_min, time);
    zone->time_max = most(zone->time_max, time);
    zone->free_min = least(zone->free_min, end);
    zone->free_max = most(zone->free_max, end);
    zone->size_min = least(zone->size_min, size);
    zone->size_max = most(zone->size_max, size);
    zone->address_min = least(zone->address_min, address);
    zone->address_max = most(zone->address_max, address);
    if (end != HS_NEVER) {
        zone->lifetime_min = least(zone->lifetime_min, end - time);
        zone->lifetime_max = most(zone->lifetime_max, end - time);
    }
    zone->stack_min = stack < zone->stack_min ? stack : zone->stack_min;
    zone->stack_max = stack > zone->stack_max ? stack : zone->stack_max;
    zone->kinds |= 1u << column_u8(&builder->kind)[row];
    zone->flags |= column_u8(&builder->flags)[row];
}

static void add_to_summary(struct builder *builder, uint64_t row)
{
    struct hs_summary *summary = builder->summary;
    if (hs_kind_domain(column_u8(&builder->kind)[row]) != HS_DOMAIN_HEAP)
        return;
    uint64_t size = column_u64(&builder->size)[row];
    uint8_t *flags = &column_u8(&builder->flags)[row];
    summary->allocations++;
    summary->allocated_bytes += size;
    summary->allocated_usable += size + column_u32(&builder->slack)[row];
    if (*flags & HS_ROW_TEMPORARY) {
        summary->temporary_count++;
        summary->temporary_bytes += size;
    }
    uint64_t end = column_u64(&builder->free_time)[row];
    if (row < builder->peak_rows && end > summary->peak_time)
        *flags |= HS_ROW_AT_PEAK;
}

static int build_zones(struct builder *builder)
{
    struct hs_column_file file;
    uint64_t zones = (builder->rows + HS_ZONE_ROWS - 1) / HS_ZONE_ROWS;
    int failed = hs_column_file__create(&file, builder->directory_fd, "zones", sizeof(struct hs_zone));
    if (!failed)
        failed = hs_column_file__reserve(&file, zones);
    if (failed) {
        hs_column_file__abandon(&file);
        return failed;
    }
    const uint32_t *at_peak = builder->at_peak.data;
    for (size_t i = 0; i < builder->at_peak.count; i++)
        column_u8(&builder->flags)[at_peak[i]] |= HS_ROW_AT_PEAK;
    struct hs_zone *zone = file.data;
    for (uint64_t row = 0; row < builder->rows; row++) {
        if (row % HS_ZONE_ROWS == 0)
            empty_zone(&zone[row / HS_ZONE_ROWS]);
        add_to_summary(builder, row);
        add_to_zone(builder, &zone[row / HS_ZONE_ROWS], row);
    }
    return hs_column_file__finish(&file, zones);
}

static void finish_chains(struct builder *builder)
{
    struct hs_chain *chain = builder->chains.data;
    for (size_t i = 1; i < builder->chains.count; i++) {
        chain[i].last_size = column_u64(&builder->size)[chain[i].last];
        chain[i].free_time = column_u64(&builder->free_time)[chain[i].last];
    }
}

static int finish_columns(struct builder *builder)
{
    int failed = 0;
#define FINISH(name, type)                                                                                             \
    {                                                                                                                  \
        int result = hs_column_file__finish(&builder->name, builder->rows);                                            \
        failed = failed ? failed : result;                                                                             \
    }
    HS_STORE_COLUMNS(FINISH)
#undef FINISH
    return failed;
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

int builder__finish_rows(struct builder *builder, struct hs_store_head *head)
{
    struct hs_summary *summary = builder->summary;
    int failed = builder->rows
                     ? build_zones(builder)
                     : hs_write_array(builder->directory_fd, "zones", &(struct hs_array){0}, sizeof(struct hs_zone));
    summary->live = builder->live_total;
    summary->map_live = builder->map_total;
    if (summary->end_time < builder->now)
        summary->end_time = builder->now;
    finish_chains(builder);
    if (!failed)
        failed = timeline__finish(builder, head);
    if (!failed)
        failed = hs_write_array(builder->directory_fd, "chains", &builder->chains, sizeof(struct hs_chain));
    if (!failed)
        failed = hs_write_array(builder->directory_fd, "pools", &builder->pools, sizeof(uint64_t));
    if (!failed)
        failed = hs_write_array(builder->directory_fd, "mappings", &builder->mappings, sizeof(struct hs_mapping));
    head->rows = builder->rows;
    return failed ? failed : finish_columns(builder);
}
