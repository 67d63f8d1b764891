// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Data of single sampled blocks, for the log and for the list of recent allocations. Everything is under hs_table_lock.
#ifndef HEAPSONDE_RUNTIME_PROF_RECORDS_H
#define HEAPSONDE_RUNTIME_PROF_RECORDS_H

#include "runtime/prof/sampler_thread.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_record_side {
    uint64_t time_ns;
    uint32_t thread; // uid
    uint32_t stack;  // 0: unknown
    char name[HS_THREAD_NAME];
};

struct hs_sampled_block {
    uint32_t spare;      // used by the pool
    uint32_t log_number; // of the log that ran at the allocation; 0: none
    uint32_t log_next;
    uint32_t newer, older; // in the list of recent allocations
    bool used, live, recent, logged;
    uint64_t requested, usable;
    struct hs_record_side allocated, released;
};

#pragma GCC visibility push(hidden)
struct hs_sampled_block *hs_records__at(uint32_t index);

// The index of a record for a new block; 0: out of memory.
uint32_t hs_records__allocated(uint64_t requested, uint64_t usable, const struct hs_sampler_thread *thread,
                               uint32_t stack);
void hs_records__released(uint32_t index, const struct hs_sampler_thread *thread, uint32_t stack);

// No sample refers to any record any more.
void hs_records__forget(void);

// The time for records: nanoseconds of the clock that prof_time_resolution selects.
uint64_t hs_records__now(void);

// ---- recent allocations ---------------------------------------------------------------------------------------------

// prof_recent.alloc_max: how many are kept; -1: no limit. Returns the previous value.
int64_t hs_recent__limit(void);
int64_t hs_recent__set_limit(int64_t limit);
void hs_recent__add(uint32_t index);

// Writes the list as JSON, in pieces. Holds the lock only while it copies the list; `write` may allocate.
void hs_recent__print(void (*write)(void *opaque, const char *text), void *opaque);

// ---- the log --------------------------------------------------------------------------------------------------------

// The number of the running log; 0: none.
uint32_t hs_allocation_log__number(void);
void hs_allocation_log__add(uint32_t index);

// Releases a record if it is not needed any more.
void hs_records__let_go(uint32_t index);
#pragma GCC visibility pop

#endif
