// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/lock.h"

#include "arch/likely.h"
#include "arch/system.h"
#include "runtime/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/uio.h>

enum { SPINS = 100 };
#define WAIT_NS    20000000ll
#define TIMEOUT_NS (100 * WAIT_NS)
#define LEAST_NS   100 // waiting ends even with a clock that stands still

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

// Returns what process_vm_readv(2) does. To read its own memory a thread needs no rights, whichever process it is in.
static HS_COLD __attribute__((noinline)) long read_in(uint32_t tid, const volatile uint64_t *from, uint64_t *to)
{
    struct iovec local = {to, sizeof *to}, remote = {(void *)from, sizeof *from};
    return HS_SYSTEM6(SYS_process_vm_readv, tid, &local, 1, &remote, 1, 0);
}

// A process that was forked has a copy of this memory, but not with the present time in it.
static HS_COLD bool is_without_our_memory(uint32_t tid, bool is_ours)
{
    volatile uint64_t mark = hs_clock__monotonic_ns();
    uint64_t seen = ~mark;
    if (hs_system_forbids(HS_FORBIDDEN_PROBES))
        return false;
    long result = read_in(tid, &mark, &seen);
    if (result == -ESRCH)
        return true; // the kernel keeps its number until it is waited for
    if (is_ours || result == -ENOSYS || (result == sizeof mark && seen == mark))
        return false;
    return read_in((uint32_t)hs_system_getpid(), &mark, &seen) == sizeof mark;
}

HS_COLD bool hs_thread_is_gone(uint32_t tid)
{
    if (hs_system_forbids(HS_FORBIDDEN_NAMES))
        return false;
    bool is_ours = HS_SYSTEM3(SYS_tgkill, hs_system_getpid(), tid, 0) != -ESRCH;
    return (!is_ours && HS_SYSTEM2(SYS_tkill, tid, 0) == -ESRCH) || is_without_our_memory(tid, is_ours);
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
    int64_t left = TIMEOUT_NS;
    for (int i = 0; left > 0 && i < TIMEOUT_NS / LEAST_NS; i++) {
        uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);
        uint32_t owner = seen & ~HS_LOCK_CONTENDED;
        left = owner == last ? left : TIMEOUT_NS;
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
