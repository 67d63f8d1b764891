// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The lock of the sampler's tables (runtime/prof/contexts.h).
#ifndef HEAPSONDE_RUNTIME_PROF_TABLE_LOCK_H
#define HEAPSONDE_RUNTIME_PROF_TABLE_LOCK_H

#include "runtime/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern struct hs_lock hs_table_lock;

#pragma GCC visibility push(hidden)
// Acquires and releases hs_table_lock for the calling thread. False: not acquired within two seconds.
bool hs_table__lock(void);
void hs_table__unlock(void);

// Whether the calling thread holds the lock.
bool hs_table__is_ours(void);

// Work that was left to the next owner of the lock: it calls `hs_table_settle` (of the sampler) if `hs_table_left` is
// nonzero.
extern _Atomic uint32_t hs_table_left;
extern void (*const hs_table_settle)(void);
#pragma GCC visibility pop

#endif
