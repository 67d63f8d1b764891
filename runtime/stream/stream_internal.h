// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the two sides of the ring share: who seals (stream.c) and who sends (sender.c).
#ifndef HEAPSONDE_RUNTIME_STREAM_STREAM_INTERNAL_H
#define HEAPSONDE_RUNTIME_STREAM_STREAM_INTERNAL_H

#include "runtime/hidden_thread.h"
#include "runtime/lock.h"
#include "runtime/slots.h"
#include "runtime/stream/ring.h"

struct hs_stream {
    bool open;
    bool orphan; // this is the child that sends what the program left
    struct hs_ring ring;
    struct hs_lock lock;        // of who puts
    uint64_t dropped;           // events
    uint64_t live_part_due_ns;  // under the lock
    const struct hs_live *live; // of the trace's header
    const uint8_t *header;      // the trace's
    uint32_t process;           // the program's pid
    enum hs_hidden_kind kind;   // of the sender
    struct hs_hidden_thread sender;
    _Atomic uint32_t signal, asleep, freed, blocked, ended, quit;
    _Atomic uint32_t broken; // set by the sender: nobody will ever take what is put
};

extern struct hs_stream hs_stream;

// Everything before `tail` is with the host.
void hs_stream__sent(uint32_t tail);

// Sleeps until there is more than up to `head_seen`, or somebody waits for room.
void hs_stream__sleep(uint32_t head_seen, int64_t timeout_ns);

// Puts a copy of what a slot holds. False: there is no room now.
bool hs_stream__copy_slot(const struct hs_slot *slot);

// The program has ended without a word: what the header says now is the end.
void hs_stream__close(void);

#endif
