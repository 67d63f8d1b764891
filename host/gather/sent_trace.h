// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A trace file that is sent through a broker. A stream (docs/protocol.md, 1) grows at its end only, so it is sent while
// it grows. A file that a process maps and changes in place is sent after the process has closed it.
#ifndef HEAPSONDE_HOST_GATHER_SENT_TRACE_H
#define HEAPSONDE_HOST_GATHER_SENT_TRACE_H

#include "host/gather/chunk_watch.h"
#include "host/gather/outbox.h"

struct hs_sent_trace {
    struct hs_sent_trace *next; // for lists of the caller
    char *path;
    struct hs_outbox outbox; // its size and end as of the last look
    bool in_place;           // a process changes it
    bool replaced;           // the file holds another trace now, or less of this one
    bool broken;             // of the caller: it cannot be read
    // Private:
    bool is_stream;
    struct hs_chunk_watch watch;
    uint64_t quiet_size, quiet_since;
};

// The gatherer gets `device` and `labels` (A=B,C=D). 0, or a negative errno; -EBADMSG: it is no trace;
// -ENODATA: its header is not whole, so it may become one.
int hs_sent_trace__open(struct hs_sent_trace **trace, const char *path, const char *device, const char *labels,
                        struct hs_error *error);
void hs_sent_trace__close(struct hs_sent_trace *trace);

// Updates `outbox.size`, `outbox.ended` and `replaced` from the file. `now` is in ns.
void hs_sent_trace__look(struct hs_sent_trace *trace, uint64_t now);

#endif
