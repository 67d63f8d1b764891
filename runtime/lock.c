// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/lock.h"

#include "arch/system.h"
#include "runtime/clock.h"

#include <errno.h>
#include <linux/futex.h>

enum { SPINS = 100 };
#define WAIT_NS     20000000ll
#define PATIENCE_NS (100 * WAIT_NS)
#define LEAST_NS    100 // waiting ends even with a clock that stands still

long hs_futex__wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return hs_system_futex((const void *)word, FUTEX_WAIT_PRIVATE, expected, timeout_ns);
}

void hs_futex__wake(_Atomic uint32_t *word, int count)
{
    hs_system_futex((const void *)word, FUTEX_WAKE_PRIVATE, (uint32_t)count, -1);
}

int64_t hs_futex__wait_part(_Atomic uint32_t *word, uint32_t expected, int64_t longest_ns)
{
    uint64_t before = hs_clock__monotonic_ns();
    long result = hs_futex__wait(word, expected, longest_ns);
    uint64_t passed = hs_clock__monotonic_ns() - before;
    if (result == 0)
        return LEAST_NS;
    if (result == -ETIMEDOUT || passed > (uint64_t)longest_ns)
        return longest_ns;
    return (int64_t)passed + LEAST_NS;
}

bool hs_thread_is_gone(uint32_t tid)
{
    return !hs_system_forbids(HS_FORBIDDEN_NAMES) && HS_SYSTEM3(SYS_tgkill, hs_system_getpid(), tid, 0) == -ESRCH &&
           HS_SYSTEM2(SYS_tkill, tid, 0) == -ESRCH;
}

static bool take(struct hs_lock *lock, uint32_t *seen, uint32_t wanted)
{
    return atomic_compare_exchange_strong_explicit(&lock->word, seen, wanted, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool acquire_slowly(struct hs_lock *lock, uint32_t tid)
{
    // Other owners had their turns meanwhile: only the last one may be stuck.
    uint32_t last = 0;
    int64_t left = PATIENCE_NS;
    for (int i = 0; left > 0 && i < PATIENCE_NS / LEAST_NS; i++) {
        uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);
        uint32_t owner = seen & ~HS_LOCK_CONTENDED;
        left = owner == last ? left : PATIENCE_NS;
        last = owner;
        if (owner == 0 || owner == tid || (i > 0 && hs_thread_is_gone(owner))) {
            if (take(lock, &seen, tid | HS_LOCK_CONTENDED))
                return true;
            continue;
        }
        if (!(seen & HS_LOCK_CONTENDED) && !take(lock, &seen, seen | HS_LOCK_CONTENDED))
            continue;
        left -= hs_futex__wait_part(&lock->word, seen | HS_LOCK_CONTENDED, WAIT_NS);
    }
    return false;
}

bool hs_lock__acquire(struct hs_lock *lock, uint32_t tid)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t seen = 0;
        if (take(lock, &seen, tid))
            return true;
        __asm__ volatile("" ::: "memory");
    }
    return acquire_slowly(lock, tid);
}

void hs_lock__release(struct hs_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) & HS_LOCK_CONTENDED)
        hs_futex__wake(&lock->word, 1);
}
