// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How a hook enters the recorder and leaves it (runtime/record.h).
#ifndef HEAPSONDE_RUNTIME_ENTER_H
#define HEAPSONDE_RUNTIME_ENTER_H

#include "arch/likely.h"
#include "runtime/process.h"
#include "runtime/threads.h"

#include <stddef.h>
#include <stdint.h>

// For a thread without a record, or one that is inside already.
struct hs_thread *hs_record__enter_slowly(uint32_t wanted);

// Returns the calling thread, marked as inside the real function; NULL: the event is not recorded. `wanted`: the mode
// bit that the event requires.
static inline struct hs_thread *hs_record__enter(uint32_t wanted)
{
    struct hs_thread *thread = hs_thread_self;
    if (HS_UNLIKELY(!(hs_mode() & wanted) || !thread || thread->inside))
        return hs_record__enter_slowly(wanted);
    thread->inside = HS_INSIDE_REAL;
    return thread;
}

static inline void hs_record__leave(struct hs_thread *thread)
{
    thread->nested = 0;
    thread->inside = HS_OUTSIDE;
}

// For mappings: allowed also inside the real allocator. *before becomes the previous value of `inside`.
struct hs_thread *hs_record__enter_map(uint32_t *before);

#endif
