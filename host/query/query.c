// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/query.h"

#include <stdlib.h>

void hs_total__add(struct hs_total *to, const struct hs_total *from)
{
    to->allocated_bytes += from->allocated_bytes;
    to->allocated_usable += from->allocated_usable;
    to->allocated_count += from->allocated_count;
    to->live_bytes += from->live_bytes;
    to->live_usable += from->live_usable;
    to->live_count += from->live_count;
    to->peak_bytes += from->peak_bytes;
    to->peak_usable += from->peak_usable;
    to->peak_count += from->peak_count;
    to->temporary_bytes += from->temporary_bytes;
    to->temporary_count += from->temporary_count;
    to->freed_bytes += from->freed_bytes;
    to->freed_count += from->freed_count;
    to->culled_bytes += from->culled_bytes;
    to->culled_count += from->culled_count;
    to->lifetime_sum = hs_lifetimes__add(to->lifetime_sum, from->lifetime_sum);
    if (from->size_min < to->size_min)
        to->size_min = from->size_min;
    if (from->size_max > to->size_max)
        to->size_max = from->size_max;
    if (from->first_time < to->first_time)
        to->first_time = from->first_time;
    if (from->last_time > to->last_time)
        to->last_time = from->last_time;
    if (from->lifetime_min < to->lifetime_min)
        to->lifetime_min = from->lifetime_min;
    if (from->lifetime_max > to->lifetime_max)
        to->lifetime_max = from->lifetime_max;
}

void hs_total__take_live(struct hs_total *total)
{
    total->allocated_bytes = total->peak_bytes = total->live_bytes;
    total->allocated_usable = total->peak_usable = total->live_usable;
    total->allocated_count = total->peak_count = total->live_count;
    total->temporary_bytes = total->temporary_count = 0;
}

void hs_totals__free(struct hs_totals *totals)
{
    free(totals->total);
    *totals = (struct hs_totals){0};
}

uint64_t hs_total__value(const struct hs_total *total, enum hs_total_key key)
{
    switch (key) {
    case HS_TOTAL_LIVE_BYTES:
        return total->live_bytes;
    case HS_TOTAL_LIVE_COUNT:
        return total->live_count;
    case HS_TOTAL_PEAK_BYTES:
        return total->peak_bytes;
    case HS_TOTAL_PEAK_COUNT:
        return total->peak_count;
    case HS_TOTAL_ALLOCATED_BYTES:
        return total->allocated_bytes;
    case HS_TOTAL_ALLOCATED_COUNT:
        return total->allocated_count;
    case HS_TOTAL_TEMPORARY_BYTES:
        return total->temporary_bytes;
    case HS_TOTAL_TEMPORARY_COUNT:
        return total->temporary_count;
    default:
        return UINT32_MAX - total->stack;
    }
}

void hs_rows__free(struct hs_rows *rows)
{
    free(rows->row);
    *rows = (struct hs_rows){0};
}
