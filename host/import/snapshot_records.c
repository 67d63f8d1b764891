// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/snapshot_records.h"

#include "format/trace_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_FIRST = 1 << 16 };

static int add_bytes(struct hs_array *bytes, struct hs_bytes more)
{
    size_t needed = bytes->count + more.length;
    if (needed > bytes->capacity) {
        size_t capacity = needed < BYTES_FIRST ? BYTES_FIRST : 2 * needed;
        void *grown = realloc(bytes->data, capacity);
        if (!grown)
            return -ENOMEM;
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    if (more.length)
        memcpy((uint8_t *)bytes->data + bytes->count, more.data, more.length);
    bytes->count = needed;
    return 0;
}

int hs_snapshot_records__add(struct hs_snapshot_records *records, const struct hs_meta_record *record)
{
    struct hs_snapshot_record *added = hs_array__add(&records->record, sizeof *added);
    if (!added)
        return -ENOMEM;
    *added = (struct hs_snapshot_record){.time = record->time,
                                         .at = records->bytes.count,
                                         .length = (uint32_t)record->text.length,
                                         .number = record->id | HS_STACK_SNAPSHOT};
    return add_bytes(&records->bytes, record->text);
}

void hs_snapshot_records__convert(struct hs_snapshot_records *records, struct hs_clock_map *clock)
{
    struct hs_snapshot_record *record = records->record.data;
    for (size_t i = 0; i < records->record.count; i++)
        record[i].time = hs_clock_map__ns(clock, record[i].time);
}

void hs_snapshot_records__free(struct hs_snapshot_records *records)
{
    free(records->record.data);
    free(records->bytes.data);
}
