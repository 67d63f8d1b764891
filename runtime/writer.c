// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/writer.h"

#include "arch/system.h"
#include "runtime/aggregate/aggregate.h"
#include "runtime/clock.h"
#include "runtime/cull.h"
#include "runtime/handover.h"
#include "runtime/hidden_thread.h"
#include "runtime/left_over.h"
#include "runtime/load.h"
#include "runtime/lock.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/perf/perf.h"
#include "runtime/seal.h"
#include "runtime/stream/stream.h"
#include "runtime/tables.h"
#include "runtime/threads.h"
#include "unwind/stack_memory.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum { STATE_NONE, STATE_THREAD, STATE_INLINE };
enum { ORDER_SYNC = 1, ORDER_CLOSE = 2, ORDER_QUIT = 4, ORDER_ROOM = 8 };
enum { STACK_SIZE = 128 * 1024, WAKE_AT = 3, SPARE_SLOTS = 3, POOL_SLOTS = 7, STRETCHED_SLOTS = 64, GROWTH = 4 };

#define SECOND_NS   1000000000ll
#define PATIENCE_NS 2000000000ull
#define STRETCH_NS  1000000000ull
#define LONG_TRY_NS 500000000ull
#define ORDER_NS    (10 * SECOND_NS)
#define JOIN_NS     2000000000ll

static struct {
    _Atomic uint32_t state, signal, asleep, asked, answered;
    _Atomic uint32_t close_state; // HS_STATE_* that ORDER_CLOSE writes
    struct hs_lock role;          // held while sealing inline
    struct hs_hidden_thread thread;
    struct hs_handover handover; // of its descriptor, when it quits
} writer;

static struct {
    bool (*start_writer)(void);
    void (*end_recording)(void);
} owner;

// A second thread that seals beside the first, from the moment that threads had to wait for a slot, where a processor
// is left for it.
//   signal   futex that it sleeps on
//   working  1 from before it looks for a slot until it has found none
//   quit     set by the writer's thread when it ends
static struct {
    _Atomic uint32_t signal, working, quit;
    struct hs_lock lock;   // guards `batch`
    struct hs_slot *batch; // collected slots that are not being sealed yet
    struct hs_sealer *sealer;
    struct hs_hidden_thread thread;
} helper;

static void wake(uint32_t orders)
{
    atomic_fetch_or(&writer.asked, orders);
    atomic_fetch_add(&writer.signal, 1);
    hs_futex__wake(&writer.signal, 1);
}

static void start_helper(void);

// ---- the work, the same for both writers --------------------------------------------------------------------------

static void grow_pool(void)
{
    uint32_t wanted = hs_threads__count() + hs_cull__held() + POOL_SLOTS;
    if (hs_slots__free() < SPARE_SLOTS && hs_slots__total() < wanted)
        hs_output__add_slots(GROWTH);
}

static struct hs_slot *next_of_batch(uint32_t tid)
{
    if (!hs_lock__acquire(&helper.lock, tid))
        return NULL;
    struct hs_slot *slot = helper.batch;
    if (slot)
        helper.batch = hs_slots__next(slot);
    hs_lock__release(&helper.lock);
    return slot;
}

static void seal_batch(struct hs_sealer *sealer, uint32_t tid)
{
    for (struct hs_slot *slot; (slot = next_of_batch(tid));)
        hs_seal__slot(sealer, slot);
}

static void wake_helper(void)
{
    if (!helper.thread.tid || atomic_load(&helper.working))
        return;
    atomic_store(&helper.working, 1);
    atomic_fetch_add(&helper.signal, 1);
    hs_futex__wake(&helper.signal, 1);
}

// `crowded`: a thread found no free slot.
static void seal_submitted(uint32_t crowded)
{
    struct hs_slot *batch = hs_slots__collect();
    if (!batch && !crowded)
        return;
    helper.batch = batch;
    if (batch && hs_slots__next(batch))
        wake_helper();
    seal_batch(hs_sealer__prepare(0), (uint32_t)hs_system_gettid());
    while (atomic_load(&helper.working))
        hs_futex__wait(&helper.working, 1, SECOND_NS / 100);
    grow_pool();
    if (crowded && batch)
        start_helper();
}

static void carry_out(uint32_t orders)
{
    hs_seal__aggregate(orders & ORDER_SYNC);
    if (orders & ORDER_CLOSE)
        hs_seal__close(atomic_load(&writer.close_state));
    if (orders & ~ORDER_ROOM) {
        atomic_fetch_add(&writer.answered, 1);
        hs_futex__wake(&writer.answered, 1 << 30);
    }
}

// ---- the thread -----------------------------------------------------------------------------------------------------

// Returns whether no thread needed it.
static bool sleep_until_needed(void)
{
    uint32_t seen = atomic_load(&writer.signal);
    atomic_store(&writer.asleep, 1);
    bool needed = hs_slots__submitted() >= WAKE_AT || atomic_load(&writer.asked);
    if (!needed)
        hs_futex__wait(&writer.signal, seen, hs_aggregate__is_on() ? hs_aggregate__due_in_ns() : SECOND_NS);
    atomic_store(&writer.asleep, 0);
    return !needed && atomic_load(&writer.signal) == seen;
}

static void helper_main(void *unused)
{
    (void)unused;
    uint32_t tid = (uint32_t)hs_system_gettid();
    HS_SYSTEM2(SYS_prctl, PR_SET_NAME, "heapsonde");
    for (;;) {
        uint32_t seen = atomic_load(&helper.signal);
        seal_batch(helper.sealer, tid);
        atomic_store(&helper.working, 0);
        hs_futex__wake(&helper.working, 1);
        if (atomic_load(&helper.quit))
            return;
        hs_futex__wait(&helper.signal, seen, -1);
    }
}

// Called by the writer's thread, so that the helper shares its descriptor table.
static void start_helper(void)
{
    bool is_thread = atomic_load_explicit(&writer.state, memory_order_relaxed) == STATE_THREAD;
    if (helper.thread.tid || !is_thread || hs_cull__is_on() || hs_aggregate__is_on())
        return;
    // A lone thread of the program and the writer keep two processors busy; a third would take turns with them.
    if (hs_load__processors() < 2 + (hs_threads__count() <= 1 + hs_perf__threads()))
        return;
    helper.sealer = hs_sealer__prepare(1);
    if (!helper.sealer)
        return;
    atomic_store(&helper.working, 1);
    if (hs_hidden_thread__start(&helper.thread, STACK_SIZE, helper_main, NULL, HS_HIDDEN_SHARED_DESCRIPTORS))
        atomic_store(&helper.working, 0);
}

static void stop_helper(void)
{
    if (!helper.thread.tid)
        return;
    atomic_store(&helper.quit, 1);
    atomic_fetch_add(&helper.signal, 1);
    hs_futex__wake(&helper.signal, 1);
    if (!hs_hidden_thread__join(&helper.thread, JOIN_NS))
        helper.thread.tid = 0; // nobody waits for it any more
}

static bool is_left_over(uint32_t *status)
{
    return hs_left_over__is_all(1 + (helper.thread.tid != 0) + hs_perf__threads(), status);
}

// What the program's last thread would have done.
static void end_for_program(void)
{
    atomic_store(&writer.state, STATE_INLINE);
    hs_threads__none_is_left();
    hs_perf__stop();
    owner.end_recording();
}

static void thread_main(void *unused)
{
    (void)unused;
    HS_SYSTEM2(SYS_prctl, PR_SET_NAME, "heapsonde");
    // Standard error stays open if messages were requested.
    bool messages = hs_config.log_level != HS_LOG_OFF && hs_config.log_file[0] == 0;
    hs_hidden_thread__close_descriptors(hs_output__descriptor(), messages ? 2 : -1);
    hs_load__watch();
    hs_tables__watch();
    uint32_t status = 0;
    bool ends = false, left_over = false;
    while (!ends && !left_over) {
        left_over = sleep_until_needed() && is_left_over(&status);
        uint32_t orders = atomic_exchange(&writer.asked, 0);
        seal_submitted(orders & ORDER_ROOM);
        hs_seal__beat();
        hs_tables__give_back_if_due(hs_stacks__count());
        carry_out(orders);
        ends = orders & ORDER_QUIT;
    }
    stop_helper();
    if (left_over)
        end_for_program();
    else
        hs_handover__send(&writer.handover, hs_output__descriptor());
    HS_SYSTEM1(SYS_exit, status);
}

static bool start_thread(void)
{
    hs_left_over__begin();
    long error = hs_hidden_thread__start(&writer.thread, STACK_SIZE, thread_main, NULL, HS_HIDDEN_THREAD);
    if (error) {
        hs_log(HS_LOG_WARN, "no writer thread, recording goes on inline", NULL, (int)-error);
        return false;
    }
    if (hs_output__descriptor() >= 0)
        hs_system_close(hs_output__descriptor());
    hs_output__own_descriptor();
    return true;
}

void hs_writer__set_owner(bool (*start_writer)(void), void (*end_recording)(void))
{
    owner.start_writer = start_writer;
    owner.end_recording = end_recording;
}

bool hs_writer__start(bool inline_writer)
{
    if (!hs_seal__prepare())
        return false;
    bool thread = !inline_writer && start_thread();
    atomic_store(&writer.state, thread ? STATE_THREAD : STATE_INLINE);
    return true;
}

// ---- the program's threads ------------------------------------------------------------------------------------------

// A signal handler may interrupt sealing; what it records waits for the next turn, and so does what is recorded on a
// stack that is too small. False: it waits.
static bool seal_inline(uint32_t orders)
{
    if (!hs_stack_has_room())
        return false;
    uint32_t tid = (uint32_t)hs_system_gettid();
    struct hs_signal_set before;
    hs_system_block_signals(&before);
    if (hs_lock__acquire(&writer.role, tid)) {
        seal_submitted(orders & ORDER_ROOM);
        carry_out(orders);
        hs_lock__release(&writer.role);
    }
    hs_system_restore_signals(&before);
    return true;
}

void hs_writer__notify(void)
{
    uint32_t state = atomic_load_explicit(&writer.state, memory_order_relaxed);
    if (state == STATE_INLINE)
        seal_inline(0);
    else if (state == STATE_THREAD && hs_slots__submitted() >= WAKE_AT && atomic_load(&writer.asleep))
        wake(0);
}

// A disk may stand still for longer than the slots last. Then recording goes on in plain memory, within limits.
static bool stretch_pool(void)
{
    return hs_slots__total() < hs_threads__count() + hs_cull__held() + STRETCHED_SLOTS &&
           hs_output__add_plain_slots(GROWTH);
}

static bool make_room(void)
{
    switch (atomic_load(&writer.state)) {
    case STATE_NONE:
        return owner.start_writer && owner.start_writer();
    case STATE_INLINE:
        return seal_inline(ORDER_ROOM) || stretch_pool();
    default:
        wake(ORDER_ROOM); // asleep or about to be, it takes another turn
        hs_slots__wait(SECOND_NS / 50);
        return true;
    }
}

struct hs_slot *hs_writer__take_slot(uint32_t use, uint32_t stream, uint64_t base_time)
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
        if (slot || waited > PATIENCE_NS)
            break;
        if (waited > STRETCH_NS)
            stretch_pool();
    }
    if (!slot)
        hs_log(HS_LOG_WARN, "no buffer came in time; an event is lost", NULL, 0);
    return slot;
}

static bool order(uint32_t orders)
{
    if (atomic_load(&writer.state) != STATE_THREAD)
        return !hs_output__is_open() || seal_inline(orders);
    // Two more turns: the writer may be in the middle of one that has missed the order.
    uint32_t before = atomic_load(&writer.answered);
    wake(orders);
    for (int64_t left = ORDER_NS;;) {
        uint32_t answered = atomic_load(&writer.answered);
        if (answered != before && !(atomic_load(&writer.asked) & orders))
            return true;
        if (atomic_load(&writer.state) != STATE_THREAD)
            return order(orders);
        if (left <= 0)
            return false;
        left -= hs_futex__wait_part(&writer.answered, answered, SECOND_NS / 10);
    }
}

bool hs_writer__sync(void)
{
    return order(ORDER_SYNC);
}

void hs_writer__ask_for_aggregate(void)
{
    if (atomic_load(&writer.state) != STATE_THREAD)
        return;
    wake(ORDER_SYNC);
}

void hs_writer__close(uint64_t state)
{
    atomic_store(&writer.close_state, (uint32_t)state);
    order(ORDER_CLOSE);
}

static void end_thread(void)
{
    hs_handover__expect(&writer.handover);
    bool ended = order(ORDER_QUIT);
    if (ended)
        hs_hidden_thread__join(&writer.thread, JOIN_NS);
    int fd = hs_handover__receive(&writer.handover);
    if (ended) {
        hs_output__share_descriptor(fd);
        atomic_store(&writer.state, STATE_INLINE);
    } else if (fd >= 0) {
        hs_system_close(fd);
    }
}

void hs_writer__become_inline(void)
{
    if (!hs_lock__acquire(&writer.role, (uint32_t)hs_system_gettid()))
        return;
    uint32_t state = atomic_load(&writer.state);
    if (state == STATE_THREAD)
        end_thread();
    else if (state == STATE_NONE && hs_output__is_open())
        atomic_store(&writer.state, STATE_INLINE);
    hs_lock__release(&writer.role);
}

bool hs_writer__has_started(void)
{
    return atomic_load(&writer.state) != STATE_NONE;
}

uint32_t hs_writer__thread(void)
{
    return atomic_load(&writer.state) == STATE_THREAD ? writer.thread.tid : 0;
}

void hs_writer__reset(void)
{
    hs_hidden_thread__forget(&writer.thread);
    atomic_store(&writer.state, STATE_NONE);
    atomic_store(&writer.asked, 0);
    atomic_store(&writer.asleep, 0);
    writer.role = (struct hs_lock){0};
    hs_hidden_thread__forget(&helper.thread);
    hs_load__forget();
    hs_tables__forget();
    helper.batch = NULL;
    helper.lock = (struct hs_lock){0};
    atomic_store(&helper.working, 0);
    atomic_store(&helper.quit, 0);
}
