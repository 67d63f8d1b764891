// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/writer.h"

#include "arch/system.h"
#include "runtime/aggregate/aggregate.h"
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
#include "runtime/tables.h"
#include "runtime/threads.h"
#include "unwind/stack_memory.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum { ORDER_SYNC = 2, ORDER_CLOSE = 4, ORDER_QUIT = 8 };
enum { STACK_SIZE = 128 * 1024, SPARE_SLOTS = 3, POOL_SLOTS = 7, STRETCHED_SLOTS = 64, GROWTH = 4 };

#define SECOND_NS 1000000000ll
#define ORDER_NS  (10 * SECOND_NS)
#define JOIN_NS   2000000000ll

static struct {
    _Atomic uint32_t close_state; // HS_STATE_* that ORDER_CLOSE writes
    struct hs_lock role;          // held while sealing inline
    struct hs_handover handover;  // of its descriptor, when it quits
} writer;

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
    if (hs_output__is_left())
        return;
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
    if (orders & ~HS_SLOT_SOURCE_ROOM) {
        atomic_fetch_add(&hs_slot_source.answered, 1);
        hs_futex__wake(&hs_slot_source.answered, 1 << 30);
    }
}

// ---- the thread -----------------------------------------------------------------------------------------------------

// Returns whether no thread needed it.
static bool sleep_until_needed(void)
{
    uint32_t seen = atomic_load(&hs_slot_source.signal);
    atomic_store(&hs_slot_source.asleep, 1);
    bool needed = hs_slots__submitted() >= HS_SLOT_SOURCE_WAKE_AT || atomic_load(&hs_slot_source.asked);
    if (!needed)
        hs_futex__wait(&hs_slot_source.signal, seen, hs_aggregate__is_on() ? hs_aggregate__due_in_ns() : SECOND_NS);
    atomic_store(&hs_slot_source.asleep, 0);
    return !needed && atomic_load(&hs_slot_source.signal) == seen;
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
    bool is_thread = atomic_load_explicit(&hs_slot_source.state, memory_order_relaxed) == HS_WRITER_THREAD;
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
    atomic_store(&hs_slot_source.state, HS_WRITER_INLINE);
    hs_threads__none_is_left();
    hs_perf__stop();
    hs_slot_source.end_recording();
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
        uint32_t orders = atomic_exchange(&hs_slot_source.asked, 0);
        seal_submitted(orders & HS_SLOT_SOURCE_ROOM);
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
    long error = hs_hidden_thread__start(&hs_slot_source.thread, STACK_SIZE, thread_main, NULL, HS_HIDDEN_THREAD);
    if (error) {
        hs_log(HS_LOG_WARN, "no writer thread, recording goes on inline", NULL, (int)-error);
        return false;
    }
    if (hs_output__descriptor() >= 0)
        hs_system_close(hs_output__descriptor());
    hs_output__own_descriptor();
    return true;
}

bool hs_writer__start(bool inline_writer)
{
    if (!hs_seal__prepare())
        return false;
    bool thread = !inline_writer && start_thread();
    atomic_store(&hs_slot_source.state, thread ? HS_WRITER_THREAD : HS_WRITER_INLINE);
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
        seal_submitted(orders & HS_SLOT_SOURCE_ROOM);
        carry_out(orders);
        hs_lock__release(&writer.role);
    }
    hs_system_restore_signals(&before);
    return true;
}

// A disk may stand still for longer than the slots last. Then recording goes on in plain memory, within limits.
static bool stretch_pool(void)
{
    return hs_slots__total() < hs_threads__count() + hs_cull__held() + STRETCHED_SLOTS &&
           hs_output__add_plain_slots(GROWTH);
}

void hs_writer__set_owner(bool (*start_writer)(void), void (*end_recording)(void))
{
    hs_slot_source.start_writer = start_writer;
    hs_slot_source.seal = seal_inline;
    hs_slot_source.stretch_pool = stretch_pool;
    hs_slot_source.end_recording = end_recording;
}

static bool order(uint32_t orders)
{
    if (atomic_load(&hs_slot_source.state) != HS_WRITER_THREAD)
        return !hs_output__is_open() || seal_inline(orders);
    // Two more turns: the writer may be in the middle of one that has missed the order.
    uint32_t before = atomic_load(&hs_slot_source.answered);
    hs_slot_source__wake(orders);
    for (int64_t left = ORDER_NS;;) {
        uint32_t answered = atomic_load(&hs_slot_source.answered);
        if (answered != before && !(atomic_load(&hs_slot_source.asked) & orders))
            return true;
        if (atomic_load(&hs_slot_source.state) != HS_WRITER_THREAD)
            return order(orders);
        if (left <= 0)
            return false;
        left -= hs_futex__wait_part(&hs_slot_source.answered, answered, SECOND_NS / 10);
    }
}

bool hs_writer__sync(void)
{
    return order(ORDER_SYNC);
}

void hs_writer__ask_for_aggregate(void)
{
    if (atomic_load(&hs_slot_source.state) != HS_WRITER_THREAD)
        return;
    hs_slot_source__wake(ORDER_SYNC);
}

void hs_writer__close(uint64_t state)
{
    atomic_store(&writer.close_state, (uint32_t)state);
    order(ORDER_CLOSE);
}

void hs_writer__leave(void)
{
    bool locked = hs_lock__acquire(&writer.role, (uint32_t)hs_system_gettid());
    hs_output__leave();
    if (locked)
        hs_lock__release(&writer.role);
}

static void end_thread(void)
{
    hs_handover__expect(&writer.handover);
    bool ended = order(ORDER_QUIT);
    if (ended)
        hs_hidden_thread__join(&hs_slot_source.thread, JOIN_NS);
    int fd = hs_handover__receive(&writer.handover);
    if (ended) {
        hs_output__share_descriptor(fd);
        atomic_store(&hs_slot_source.state, HS_WRITER_INLINE);
    } else if (fd >= 0) {
        hs_system_close(fd);
    }
}

void hs_writer__become_inline(void)
{
    if (!hs_lock__acquire(&writer.role, (uint32_t)hs_system_gettid()))
        return;
    uint32_t state = atomic_load(&hs_slot_source.state);
    if (state == HS_WRITER_THREAD)
        end_thread();
    else if (state == HS_WRITER_NONE && hs_output__is_open())
        atomic_store(&hs_slot_source.state, HS_WRITER_INLINE);
    hs_lock__release(&writer.role);
}

bool hs_writer__has_started(void)
{
    return atomic_load(&hs_slot_source.state) != HS_WRITER_NONE;
}

void hs_writer__reset(void)
{
    hs_hidden_thread__forget(&hs_slot_source.thread);
    atomic_store(&hs_slot_source.state, HS_WRITER_NONE);
    atomic_store(&hs_slot_source.asked, 0);
    atomic_store(&hs_slot_source.asleep, 0);
    writer.role = (struct hs_lock){0};
    hs_hidden_thread__forget(&helper.thread);
    hs_load__forget();
    hs_tables__forget();
    helper.batch = NULL;
    helper.lock = (struct hs_lock){0};
    atomic_store(&helper.working, 0);
    atomic_store(&helper.quit, 0);
}
