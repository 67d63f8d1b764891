// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The four ways to look at the same allocations, and bytes or blocks of each.
#ifndef HEAPSONDE_HOST_REPORT_COST_H
#define HEAPSONDE_HOST_REPORT_COST_H

#include "host/query/query.h"

#include <stdbool.h>

enum hs_cost { HS_COST_PEAK, HS_COST_LIVE, HS_COST_ALLOCATED, HS_COST_TEMPORARY, HS_COST_COUNT };
#define HS_COST_CHOICES "live peak allocated temporary"

// The cost of one of the words in HS_COST_CHOICES.
enum hs_cost hs_cost__parse(const char *word);
const char *hs_cost__name(enum hs_cost cost);
const char *hs_cost__title(enum hs_cost cost); // "live at the peak", ...
uint64_t hs_cost__bytes(const struct hs_total *total, enum hs_cost cost);
uint64_t hs_cost__blocks(const struct hs_total *total, enum hs_cost cost);
enum hs_total_key hs_cost__key(enum hs_cost cost);       // of the bytes
enum hs_total_key hs_cost__count_key(enum hs_cost cost); // of the blocks

#endif
