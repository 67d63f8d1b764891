// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/slot_source.h"

#include "runtime/clock.h"
#include "runtime/lock.h"
#include "runtime/log.h"
#include "runtime/output.h"
#include "runtime/stream/stream.h"

#include <stdatomic.h>

#define SECOND_NS   1000000000ll
#define TIMEOUT_NS  2000000000ull
#define STRETCH_NS  1000000000ull
#define LONG_TRY_NS 500000000ull

struct hs_slot_source hs_slot_source;

void hs_slot_source__wake(uint32_t orders)
{
    atomic_fetch_or(&hs_slot_source.asked, orders);
    atomic_fetch_add(&hs_slot_source.signal, 1);
    hs_futex__wake(&hs_slot_source.signal, 1);
}

void hs_slot_source__notify(void)
{
    uint32_t state = atomic_load_explicit(&hs_slot_source.state, memory_order_relaxed);
    if (state == HS_WRITER_INLINE)
        hs_slot_source.seal(0);
    else if (state == HS_WRITER_THREAD && hs_slots__submitted() >= HS_SLOT_SOURCE_WAKE_AT &&
             atomic_load(&hs_slot_source.asleep))
        hs_slot_source__wake(0);
}

static bool make_room(void)
{
    switch (atomic_load(&hs_slot_source.state)) {
    case HS_WRITER_NONE:
        return hs_slot_source.start_writer && hs_slot_source.start_writer();
    case HS_WRITER_INLINE:
        return hs_slot_source.seal(HS_SLOT_SOURCE_ROOM) || hs_slot_source.stretch_pool();
    default:
        hs_slot_source__wake(HS_SLOT_SOURCE_ROOM); // asleep or about to be, it takes another turn
        hs_slots__wait(SECOND_NS / 50);
        return true;
    }
}

struct hs_slot *hs_slot_source__take(uint32_t use, uint32_t stream, uint64_t base_time)
{
    struct hs_slot *slot = hs_slots__take(use, stream, base_time);
    if (slot)
        return slot;
    uint64_t before = hs_clock__monotonic_ns(), waited = 0;
    // Limited by time and not by the number of tries, because other threads may take every slot that becomes free. But
    // a try that took long does not count as waiting: the process may have been stopped.
    while (!hs_output__stopped() && make_room()) {
        slot = hs_slots__take(use, stream, base_time);
        uint64_t now = hs_clock__monotonic_ns();
        waited += now - before < LONG_TRY_NS ? now - before : LONG_TRY_NS;
        before = now;
        if (hs_stream__blocks())
            waited = 0; // as it was asked for
        if (slot || waited > TIMEOUT_NS)
            break;
        if (waited > STRETCH_NS)
            hs_slot_source.stretch_pool();
    }
    if (!slot)
        hs_log(HS_LOG_WARN, "no buffer came in time; an event is lost", NULL, 0);
    return slot;
}

uint32_t hs_slot_source__writer_thread(void)
{
    return atomic_load(&hs_slot_source.state) == HS_WRITER_THREAD ? hs_slot_source.thread.tid : 0;
}
