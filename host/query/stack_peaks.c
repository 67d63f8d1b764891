// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When each stack held the most: the import worked it out.
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>

static void read_table(const struct hs_packed *table, struct hs_stack_peaks *peaks)
{
    uint64_t bytes[HS_PACKED_BLOCK], time[HS_PACKED_BLOCK];
    for (size_t first = 0; first < peaks->count && first < table->count / 2; first += HS_PACKED_BLOCK) {
        hs_packed__read_block(table, first / HS_PACKED_BLOCK * 2, bytes);
        hs_packed__read_block(table, first / HS_PACKED_BLOCK * 2 + 1, time);
        for (size_t i = 0; i < HS_PACKED_BLOCK && first + i < peaks->count; i++)
            peaks->peak[first + i] = (struct hs_stack_peak){bytes[i], time[i]};
    }
}

int hs_query__stack_peaks(const struct hs_store *store, const struct hs_query_control *control,
                          struct hs_stack_peaks *peaks, struct hs_error *error)
{
    *peaks = (struct hs_stack_peaks){0};
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    if (control && control->cancel && __atomic_load_n(control->cancel, __ATOMIC_RELAXED))
        return hs_error__set(error, ECANCELED, "query: cancelled");
    hs_store__nodes(store, &peaks->count);
    peaks->count += !peaks->count;
    peaks->peak = calloc(peaks->count, sizeof(*peaks->peak));
    if (!peaks->peak) {
        peaks->count = 0;
        return hs_error__set(error, ENOMEM, "query: out of memory");
    }
    read_table(hs_store__stack_peaks(store), peaks);
    return 0;
}

void hs_stack_peaks__free(struct hs_stack_peaks *peaks)
{
    free(peaks->peak);
    *peaks = (struct hs_stack_peaks){0};
}
