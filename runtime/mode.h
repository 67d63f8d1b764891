// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What hooks record, and whether this process records at all.
//
// Shared words:
//   hs_shared->mode     what hooks record: HS_MODE_* bits; 0: nothing, call hs_process__wake(). Read by every hook;
//                       written when recording starts, pauses or stops.
//   hs_shared->alive    1 when started. The kernel wipes the page of both words in a forked child (MADV_WIPEONFORK), so
//                       that a child, however it is made, records nothing before it has dropped its parent's file.
//   hs_recording.state  UNSTARTED -> STARTING -> RUNNING | PASSIVE; PASSIVE is permanent
#ifndef HEAPSONDE_RUNTIME_MODE_H
#define HEAPSONDE_RUNTIME_MODE_H

#include <stdatomic.h>
#include <stdint.h>

#define HS_MODE_ALLOC 1u // allocations and maps
#define HS_MODE_FREE  2u // frees; stays set while recording is paused, so that the live blocks stay correct

struct hs_shared {
    _Atomic uint32_t mode;
    _Atomic uint32_t alive;
};

extern struct hs_shared *hs_shared;

enum { HS_RECORDING_UNSTARTED, HS_RECORDING_STARTING, HS_RECORDING_RUNNING, HS_RECORDING_PASSIVE };

struct hs_recording {
    _Atomic uint32_t state;
    uint32_t mode; // as hs_shared->mode, unless a fork wiped that one or a toggle is due
};

extern struct hs_recording hs_recording;

static inline uint32_t hs_mode(void)
{
    return atomic_load_explicit(&hs_shared->mode, memory_order_relaxed);
}

void hs_recording__set_mode(uint32_t mode);

// Records nothing more: the trace has ended permanently.
void hs_recording__give_up(void);

#endif
