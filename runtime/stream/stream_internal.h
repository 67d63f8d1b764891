// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the two sides of the ring share: who seals (stream.c) and who sends (sender.c).
#ifndef HEAPSONDE_RUNTIME_STREAM_STREAM_INTERNAL_H
#define HEAPSONDE_RUNTIME_STREAM_STREAM_INTERNAL_H

#include "format/trace_format.h"
#include "runtime/hidden_thread.h"
#include "runtime/lock.h"
#include "runtime/stream/ring.h"

// Events, and chunks that explain events.
enum hs_stream_dropped { HS_STREAM_DROPPED_EVENTS, HS_STREAM_DROPPED_META };

struct hs_stream {
    bool open;
    bool orphan; // this is the child that sends what the program left
    struct hs_stream_ring ring;
    struct hs_lock lock; // of who puts
    // What explains events, for which there was no room: chunks, one behind the other, in [kept_begin, kept_end).
    uint8_t *kept;
    uint32_t kept_begin, kept_end;
    bool end_told;              // the LIVE_PART of the end is in the ring
    uint64_t dropped[2];        // by enum hs_stream_dropped
    uint64_t live_part_due_ns;  // under the lock
    const struct hs_live *live; // of the trace's header
    const uint8_t *header;      // the trace's
    uint32_t process;           // the program's pid
    enum hs_hidden_kind kind;   // of the sender
    struct hs_hidden_thread sender;
    _Atomic uint32_t signal, asleep, freed, blocked, ended, quit;
    _Atomic uint32_t finishing; // the program ends: the sender puts what it leaves behind, and then sets `ended`
    _Atomic uint32_t broken;    // set by the sender: nobody will ever take what is put
};

extern struct hs_stream hs_stream;

// Of the sender, now and then: puts what was kept, as far as there is room, and once `ended` is set the end: what the
// header says then.
void hs_stream__tend(void);

// Whether there will be nothing behind the ring's head.
bool hs_stream__is_complete(void);

// Everything before `tail` is with the host.
void hs_stream__sent(uint32_t tail);

// Sleeps until there is more than up to `head_seen`, or somebody waits for room.
void hs_stream__sleep(uint32_t head_seen, int64_t timeout_ns);

// ---- putting; under the lock ----

bool hs_stream__lock(void);
void hs_stream__unlock(void);

// Puts a chunk for which there is room; or only places it at `at`, to be published later, and returns what is behind.
void hs_stream__put_chunk(const void *header, const void *payload, uint32_t length);
uint32_t hs_stream__place(uint32_t at, const void *header, const void *payload, uint32_t length);
bool hs_stream__put_live_part(void); // false: there is no room

// These without it, too.
void hs_stream__wake_sender(void);
void hs_stream__wait_for_room(void); // for a tenth of a second
bool hs_stream__has_ended(void);

// ---- what each shim has its own of ----

// The program ends or is gone: puts what it left, from *progress on, which begins with 0. False: there is no room for
// the rest.
bool hs_stream_source__finish(uint32_t *progress);
void hs_stream_source__sender_begins(void);

#endif
