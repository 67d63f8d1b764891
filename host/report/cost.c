// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/cost.h"

#include <string.h>

static const struct {
    const char *name;
    const char *title;
    enum hs_total_key bytes;
    enum hs_total_key blocks;
} costs[HS_COST_COUNT] = {
    [HS_COST_PEAK] = {"peak", "live at the peak", HS_TOTAL_PEAK_BYTES, HS_TOTAL_PEAK_COUNT},
    [HS_COST_LIVE] = {"live", "live at the end", HS_TOTAL_LIVE_BYTES, HS_TOTAL_LIVE_COUNT},
    [HS_COST_ALLOCATED] = {"allocated", "allocated in total", HS_TOTAL_ALLOCATED_BYTES, HS_TOTAL_ALLOCATED_COUNT},
    [HS_COST_TEMPORARY] = {"temporary", "allocated temporarily", HS_TOTAL_TEMPORARY_BYTES, HS_TOTAL_TEMPORARY_COUNT},
};

enum hs_cost hs_cost__parse(const char *word)
{
    for (int i = 0; i < HS_COST_COUNT; i++) {
        if (!strcmp(word, costs[i].name))
            return (enum hs_cost)i;
    }
    return HS_COST_PEAK;
}

const char *hs_cost__name(enum hs_cost cost)
{
    return costs[cost].name;
}

const char *hs_cost__title(enum hs_cost cost)
{
    return costs[cost].title;
}

uint64_t hs_cost__bytes(const struct hs_total *total, enum hs_cost cost)
{
    return hs_total__value(total, costs[cost].bytes);
}

uint64_t hs_cost__blocks(const struct hs_total *total, enum hs_cost cost)
{
    return hs_total__value(total, costs[cost].blocks);
}

enum hs_total_key hs_cost__key(enum hs_cost cost)
{
    return costs[cost].bytes;
}

enum hs_total_key hs_cost__count_key(enum hs_cost cost)
{
    return costs[cost].blocks;
}
