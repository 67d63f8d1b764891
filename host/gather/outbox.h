// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a device sends through a broker, for one trace: which bytes come next, according to the answers of gatherers. If
// several gatherers answer, bytes are sent again for the one that has least, and the trace is done when all of them
// have it. The connection is in broker.h.
#ifndef HEAPSONDE_HOST_GATHER_OUTBOX_H
#define HEAPSONDE_HOST_GATHER_OUTBOX_H

#include "host/gather/parcel.h"

enum { HS_OUTBOX_HOSTS = 8, HS_OUTBOX_RECENT = 32 };
#define HS_OUTBOX_CHUNK ((uint64_t)128 << 10)
#define HS_OUTBOX_ROOM  HS_PARCEL_SIZE(HS_OUTBOX_CHUNK)

struct hs_outbox_host {
    uint8_t session[HS_PARCEL_SESSION_SIZE];
    uint64_t has, heard;
    bool ended;
};

struct hs_outbox {
    // Of the caller:
    int fd; // of a file with this trace
    uint8_t trace_id[HS_TRACE_ID_SIZE];
    uint64_t size; // may grow
    bool ended;    // it no longer grows
    uint8_t *pairs;
    size_t pairs_length;
    // To be read:
    bool refused; // by all that answered, for now
    char why[HS_PARCEL_TEXT];
    uint64_t acknowledged; // by all
    // Private:
    uint64_t next, resent_from, sent_at, retry_at;
    struct hs_outbox_host host[HS_OUTBOX_HOSTS];
    unsigned host_count, recent_at;
    bool said_end;
    struct {
        uint64_t number, end;
    } recent[HS_OUTBOX_RECENT];
};

// Whether the file still holds this trace.
bool hs_outbox__is_same(const struct hs_outbox *outbox);

// Makes the next message, if one is due; `from` is of the whole program and counts up. Returns its size, 0: none. -1:
// the file cannot be read, or holds another trace.
long hs_outbox__next(struct hs_outbox *outbox, const struct hs_shared_key *key, struct hs_parcel_from *from,
                     uint64_t now, uint8_t out[HS_OUTBOX_ROOM]);

// Takes an answer to a message of this trace. `next_number`: of the message that comes next.
void hs_outbox__answer(struct hs_outbox *outbox, const struct hs_parcel_answer *answer, uint64_t next_number,
                       uint64_t now);

// Whether every gatherer that answers has the whole trace; if the trace has ended, on its disk.
bool hs_outbox__is_done(const struct hs_outbox *outbox);

#endif
