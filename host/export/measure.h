// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What formats with all costs hold: each known cost, in bytes (or the events' unit) and, where they are counted,
// blocks.
#ifndef HEAPSONDE_HOST_EXPORT_MEASURE_H
#define HEAPSONDE_HOST_EXPORT_MEASURE_H

#include "host/report/report.h"

struct hs_measure {
    enum hs_cost cost;
    bool blocks;
};

enum { HS_MEASURES_MOST = 2 * HS_COST_COUNT };

// Returns how many the subject has.
size_t hs_measures__list(const struct hs_subject *subject, struct hs_measure measure[HS_MEASURES_MOST]);

// "bytes live at the end", "CPU time", "samples of CPU time".
void hs_measure__title(const struct hs_subject *subject, struct hs_measure measure, char *title, size_t size);

static inline uint64_t hs_measure__of(const struct hs_total *total, struct hs_measure measure)
{
    return measure.blocks ? hs_cost__blocks(total, measure.cost) : hs_cost__bytes(total, measure.cost);
}

#endif
