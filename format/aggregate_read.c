// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/aggregate.h"
#include "format/trace_format.h"
#include "format/varint.h"

static bool get(struct hs_aggregate_reader *reader, uint64_t *value)
{
    const uint8_t *after = hs_varint_get(reader->at, reader->end, value);
    reader->at = after ? after : reader->end;
    return after != NULL;
}

static bool get_signed(struct hs_aggregate_reader *reader, uint64_t *value)
{
    if (!get(reader, value))
        return false;
    *value = *value >> 1 ^ (0 - (*value & 1));
    return true;
}

bool hs_aggregate_open(struct hs_aggregate_reader *reader, const void *data, size_t length,
                       struct hs_aggregate_head *head)
{
    *reader = (struct hs_aggregate_reader){.at = data, .end = (const uint8_t *)data + length};
    *head = (struct hs_aggregate_head){0};
    if (length < 2 || reader->at[0] != HS_AGGREGATE_VERSION)
        return false;
    head->domain = reader->at[1];
    reader->at += 2;
    return get(reader, &head->unknown_frees) && get(reader, &head->reallocations) && get(reader, &head->folded);
}

int hs_aggregate_next(struct hs_aggregate_reader *reader, struct hs_aggregate_record *record)
{
    *record = (struct hs_aggregate_record){0};
    if (reader->at == reader->end)
        return 0;
    uint64_t difference;
    if (!get_signed(reader, &difference) || reader->at == reader->end)
        return -1;
    uint64_t stack = reader->last_stack + difference;
    if (stack > UINT32_MAX)
        return -1;
    unsigned mask = *reader->at++;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        if (mask >> i & 1 && !get_signed(reader, &record->change[i]))
            return -1;
    record->stack = reader->last_stack = (uint32_t)stack;
    return 1;
}
