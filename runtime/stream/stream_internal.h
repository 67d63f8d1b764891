// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shared by both sides of the ring: the threads that seal (stream.c), and the sender (sender.c).
#ifndef HEAPSONDE_RUNTIME_STREAM_STREAM_INTERNAL_H
#define HEAPSONDE_RUNTIME_STREAM_STREAM_INTERNAL_H

#include "format/trace_format.h"
#include "runtime/hidden_thread.h"
#include "runtime/lock.h"
#include "runtime/stream/ring.h"

// Events, and chunks that explain events (stacks, modules).
enum hs_stream_dropped { HS_STREAM_DROPPED_EVENTS, HS_STREAM_DROPPED_META };

struct hs_stream {
    bool open;
    bool orphan; // this is the child that sends what the program left, or the program that is about to make it
    struct hs_stream_ring ring;
    struct hs_lock lock; // for producers
    // Chunks that explain events and for which there was no room: consecutive, in [kept_begin, kept_end).
    uint8_t *kept;
    uint32_t kept_begin, kept_end;
    bool end_told;              // the final LIVE_PART is in the ring
    uint64_t dropped[2];        // by enum hs_stream_dropped
    uint64_t live_part_due_ns;  // under the lock
    uint64_t live_part_sum;     // of the last one, to see whether it changed
    const struct hs_live *live; // of the trace's header
    const uint8_t *header;      // the trace's
    uint32_t process;           // the program's pid
    enum hs_hidden_kind kind;   // of the sender
    struct hs_hidden_thread sender;
    _Atomic uint32_t signal, asleep, freed, blocked, ended, quit;
    _Atomic uint32_t finishing; // the program ends: the sender adds what was left, and then sets `ended`
    _Atomic uint32_t broken;    // set by the sender: nobody will ever read the ring
    _Atomic uint32_t has_host;
};

extern struct hs_stream hs_stream;

enum { HS_STREAM_LEAST_KEPT = 4 << 20 };

static inline uint32_t hs_stream__kept_limit(void)
{
    return hs_stream.ring.size > HS_STREAM_LEAST_KEPT ? hs_stream.ring.size : HS_STREAM_LEAST_KEPT;
}

// Called by the sender from time to time: adds kept chunks as far as there is room and, when `ended` is set, the end,
// which is the live part of the header at that time.
void hs_stream__tend(void);

// Whether nothing will follow after the head of the ring.
bool hs_stream__is_complete(void);

// The host has everything before `tail`.
void hs_stream__sent(uint32_t tail);

// Sleeps until there is more than up to `head_seen`, or a thread waits for room.
void hs_stream__sleep(uint32_t head_seen, int64_t timeout_ns);

// ---- adding; requires the lock ----

bool hs_stream__lock(void);
void hs_stream__unlock(void);

// Adds a chunk for which there is room; or only writes it at `at`, to be published later, and returns the offset after
// it.
void hs_stream__put_chunk(const void *header, const void *payload, uint32_t length);
uint32_t hs_stream__place(uint32_t at, const void *header, const void *payload, uint32_t length);
bool hs_stream__put_live_part(void); // false: no room

// These do not require the lock.
void hs_stream__wake_sender(void);
void hs_stream__wait_for_room(void); // at most a tenth of a second
bool hs_stream__has_ended(void);

// ---- functions that each shim defines ----

// The program ends or has ended: adds what it left, from *progress on, which begins with 0. False: no room for the
// rest.
bool hs_stream_source__finish(uint32_t *progress);
void hs_stream_source__sender_begins(void);

// The host has the whole stream: adds what the program has left in buffers that fill slowly, now and then. Called by
// the sender each time that it is awake.
void hs_stream_source__show(uint64_t now_ns);

#endif
