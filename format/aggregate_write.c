// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/aggregate.h"
#include "format/trace_format.h"
#include "format/varint.h"

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

void hs_aggregate_begin(struct hs_aggregate_writer *writer, void *memory, size_t length,
                        const struct hs_aggregate_head *head)
{
    *writer = (struct hs_aggregate_writer){.at = memory, .end = (uint8_t *)memory + length};
    *writer->at++ = HS_AGGREGATE_VERSION;
    *writer->at++ = head->domain;
    writer->at = hs_varint_put(writer->at, writer->end, head->unknown_frees);
    writer->at = hs_varint_put(writer->at, writer->end, head->reallocations);
    writer->at = hs_varint_put(writer->at, writer->end, head->folded);
}

bool hs_aggregate_put(struct hs_aggregate_writer *writer, const struct hs_aggregate_record *record)
{
    if (writer->end - writer->at < HS_AGGREGATE_RECORD_MAX)
        return false;
    uint8_t *at = hs_varint_put(writer->at, writer->end, zigzag((uint64_t)record->stack - writer->last_stack));
    uint8_t *mask = at++;
    *mask = 0;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++) {
        if (!record->change[i])
            continue;
        *mask |= (uint8_t)(1u << i);
        at = hs_varint_put(at, writer->end, zigzag(record->change[i]));
    }
    if (!*mask)
        return true;
    writer->at = at;
    writer->last_stack = record->stack;
    return true;
}
