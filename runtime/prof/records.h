// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Data of single sampled blocks, for the log and for the list of recent allocations. Everything is under hs_table_lock.
#ifndef HEAPSONDE_RUNTIME_PROF_RECORDS_H
#define HEAPSONDE_RUNTIME_PROF_RECORDS_H

#include "runtime/prof/sampler_thread.h"

#include <stdatomic.h>
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

// Why samples are reported (runtime/prof/events.h): a reader of records; or records that exist, whose end is noted, and
// statistics.
enum { HS_EVENTS_RECENT = 1, HS_EVENTS_LOG = 2, HS_EVENTS_RECORDS = 3, HS_EVENTS_ENDS = 4 };

#pragma GCC visibility push(hidden)
// HS_EVENTS_*; 0: samples are not reported.
extern _Atomic uint32_t hs_events_wanted;
void hs_records__want(uint32_t reader, bool wanted);

// Whether new samples get records. Then the stack of a free is needed, too.
static inline __attribute__((always_inline)) bool hs_records__are_wanted(void)
{
    return atomic_load_explicit(&hs_events_wanted, memory_order_relaxed) & HS_EVENTS_RECORDS;
}

struct hs_sampled_block *hs_records__at(uint32_t index);

// The index of a record for a new block; 0: out of memory. The caller sets its log_number.
uint32_t hs_records__add(uint64_t requested, uint64_t usable, const struct hs_sampler_thread *thread, uint32_t stack);

// The block was freed.
void hs_records__end(uint32_t index, const struct hs_sampler_thread *thread, uint32_t stack);

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
