// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/trace.h"

#include "host/base/array.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int hs_trace__read(const struct hs_trace *trace, uint64_t offset, void *to, size_t length)
{
    uint8_t *at = to;
    while (length) {
        ssize_t got = pread(trace->fd, at, length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -EBADMSG;
        at += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return 0;
}

void hs_trace__count_damage(struct hs_trace *trace, enum hs_damage reason, uint64_t bytes)
{
    trace->info.damage[reason]++;
    trace->info.damage_bytes[reason] += bytes;
}

int hs_trace__add_chunk(struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    if (!HS_ARRAY_HAS_ROOM(trace->chunk, trace->chunks, trace->capacity))
        return -ENOMEM;
    trace->chunk[trace->chunks++] = *chunk;
    return 0;
}

const struct hs_trace_info *hs_trace__info(const struct hs_trace *trace)
{
    return &trace->info;
}

void hs_trace__write_id(const struct hs_trace *trace, char id[HS_TRACE_ID])
{
    const uint64_t *words = trace->info.header.trace_id;
    snprintf(id, HS_TRACE_ID, "%016llx%016llx", (unsigned long long)words[0], (unsigned long long)words[1]);
}

const struct hs_trace_chunk *hs_trace__chunks(const struct hs_trace *trace, size_t *count)
{
    *count = trace->chunks;
    return trace->chunk;
}
