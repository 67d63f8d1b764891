// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A lock for slow paths. It knows its owner, so that a thread that was cancelled or that left a signal handler by
// longjmp while it held the lock cannot block the program: the lock is taken over from a dead owner, and waiting ends
// after a bounded time.
//
// The word: 0: free, else the owner's tid; HS_LOCK_CONTENDED is set if another thread may be sleeping on it.
#ifndef HEAPSONDE_RUNTIME_LOCK_H
#define HEAPSONDE_RUNTIME_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_LOCK_CONTENDED 0x80000000u

struct hs_lock {
    _Atomic uint32_t word;
};

// Takes the lock for the thread `tid`. A lock that `tid` itself holds is taken over (its holder was abandoned).
// Returns false if one owner has held it for two seconds of waiting. Async-signal-safe.
bool hs_lock__acquire(struct hs_lock *lock, uint32_t tid);

void hs_lock__release(struct hs_lock *lock);

// Whether `tid` holds the lock.
static inline bool hs_lock__is_of(const struct hs_lock *lock, uint32_t tid)
{
    return tid && (atomic_load_explicit(&lock->word, memory_order_relaxed) & ~HS_LOCK_CONTENDED) == tid;
}

// Whether the thread has ended. Its number may belong to a thread of another process meanwhile: that counts as ended
// unless it runs in this memory, as a vfork child, its parent and a hidden process do.
bool hs_thread_is_gone(uint32_t tid);

// futex(2) on a word that only this process uses. `timeout_ns` < 0: no timeout. Returns 0 or -errno.
long hs_futex__wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
void hs_futex__wake(_Atomic uint32_t *word, int count);

// The same, for waiting that has to end: returns how much of `longest_ns` it has used up, more than 0. Signals end a
// wait at any time, so waits cannot be counted; the clock goes on while the process is stopped, so no wait uses up more
// than `longest_ns`. One that was woken has hardly used up anything.
int64_t hs_futex__wait_part(_Atomic uint32_t *word, uint32_t expected, int64_t longest_ns);

#endif
