// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/enter.h"

#include "runtime/output.h"
#include "runtime/shared_word.h"
#include "unwind/stack_memory.h"

enum { ABANDONED_AFTER = 10000 };

static void count_drop(enum hs_drop reason)
{
    hs_shared_word__add(&hs_output__live()->dropped[reason], 1);
}

// The allocator may call itself; that is no loss. A signal handler that allocates while its thread is in here is.
static HS_COLD struct hs_thread *refuse(struct hs_thread *thread)
{
    if (thread->inside == HS_INSIDE_RECORDER)
        count_drop(HS_DROP_NESTED);
    if (++thread->nested < ABANDONED_AFTER)
        return NULL;
    thread->inside = HS_OUTSIDE;
    thread->nested = 0;
    hs_thread__forget_stacks(thread);
    return NULL;
}

HS_COLD struct hs_thread *hs_record__enter_slowly(uint32_t wanted)
{
    uint32_t mode = hs_mode();
    if (mode == 0)
        mode = hs_process__wake();
    if (!(mode & wanted))
        return NULL;
    struct hs_thread *thread = hs_thread_self;
    if (thread && thread->inside)
        return refuse(thread);
    if (!thread && !hs_stack_has_room()) {
        count_drop(HS_DROP_SMALL_STACK);
        return NULL;
    }
    if (!thread && !(thread = hs_threads__register())) {
        count_drop(HS_DROP_MEMORY);
        return NULL;
    }
    thread->nested = 0;
    thread->inside = HS_INSIDE_REAL;
    return thread;
}

HS_COLD struct hs_thread *hs_record__enter_map(uint32_t *before)
{
    struct hs_thread *thread = hs_thread_self;
    if (thread && thread->inside == HS_INSIDE_REAL && (hs_mode() & HS_MODE_ALLOC)) {
        *before = HS_INSIDE_REAL;
        return thread;
    }
    *before = HS_OUTSIDE;
    return hs_record__enter(HS_MODE_ALLOC);
}
