// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When each stack held the most: the import worked it out.
#include "host/query/query.h"

struct hs_stack_peak hs_query__stack_peak(const struct hs_store *store, uint32_t stack)
{
    const struct hs_packed *table = hs_store__stack_peaks(store);
    const uint64_t at = (uint64_t)stack / HS_PACKED_BLOCK * 2 * HS_PACKED_BLOCK + stack % HS_PACKED_BLOCK;
    if (at + HS_PACKED_BLOCK >= table->count)
        return (struct hs_stack_peak){0};
    return (struct hs_stack_peak){hs_packed__at(table, at), hs_packed__at(table, at + HS_PACKED_BLOCK)};
}
