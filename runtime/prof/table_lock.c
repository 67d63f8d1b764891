// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/table_lock.h"

#include "arch/likely.h"
#include "runtime/prof/sampler_thread.h"

enum { ABANDONED_AFTER = 10000 };

struct hs_lock hs_table_lock;
_Atomic uint32_t hs_table_left;

static _Atomic uint32_t refused; // requests in a row of the thread that holds the lock

bool hs_table__is_ours(void)
{
    return hs_lock__is_of(&hs_table_lock, hs_sampler__own_tid());
}

// A signal handler that interrupted the holder is refused; after many refusals the holder must have been left by
// longjmp.
bool hs_table__lock(void)
{
    if (HS_UNLIKELY(hs_table__is_ours()) && atomic_fetch_add(&refused, 1) < ABANDONED_AFTER)
        return false;
    if (!hs_lock__acquire(&hs_table_lock, hs_sampler__own_tid()))
        return false;
    atomic_store_explicit(&refused, 0, memory_order_relaxed);
    if (HS_UNLIKELY(atomic_load_explicit(&hs_table_left, memory_order_relaxed)))
        hs_table_settle();
    return true;
}

void hs_table__unlock(void)
{
    hs_lock__release(&hs_table_lock);
}
