// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A write to a file beyond its size limit, or to a pipe without a reader, raises a signal in the writing thread. The
// program did not cause it, so the signal is held back and removed.
#ifndef HEAPSONDE_RUNTIME_HELD_SIGNALS_H
#define HEAPSONDE_RUNTIME_HELD_SIGNALS_H

#include "arch/system.h"

struct hs_held_signals {
    struct hs_signal_set before;
    uint64_t pending;
};

void hs_held_signals__hold(struct hs_held_signals *held);

// `error`: errno of the write, or 0.
void hs_held_signals__release(const struct hs_held_signals *held, int error);

#endif
