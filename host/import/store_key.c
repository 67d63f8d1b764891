// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/store_key.h"

#include "host/import/trace.h"

#include <string.h>

void hs_store_key__of(const struct hs_trace *trace, struct hs_store_key *key)
{
    const struct hs_trace_info *info = hs_trace__info(trace);
    memset(key, 0, sizeof *key);
    key->trace_id[0] = info->header.trace_id[0];
    key->trace_id[1] = info->header.trace_id[1];
    key->size = info->file_size;
    // The header is written through a mapping: the file's own time may be older.
    key->modified_ns = info->modified_ns + info->header.live.end_time;
}
