// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/perf/perf.h"

#include "arch/system.h"
#include "format/trace_format.h"
#include "runtime/clock.h"
#include "runtime/hidden_thread.h"
#include "runtime/journal.h"
#include "runtime/lock.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/mode.h"
#include "runtime/output.h"
#include "runtime/perf/cpu_clocks.h"
#include "runtime/perf/deferred.h"
#include "runtime/perf/open.h"
#include "runtime/perf/sample.h"
#include "runtime/perf/thread_stacks.h"
#include "runtime/perf/witness.h"
#include "runtime/record.h"
#include "runtime/shared_word.h"
#include "runtime/slot_source.h"
#include "unwind/module.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>

enum { STACK_SIZE = 192 << 10, BATCH = 1024 };

#define LONGEST_RUN_NS (1ull << 24)
#define LARGEST_PAGE   (1ull << 30)
#define IDLE_NS        100000000ll
#define READY_NS       2000000000ll
#define JOIN_NS        2000000000ll

// Shared by the thread and threads that flush. `lock` guards everything except the atomic words.
static struct {
    struct hs_lock lock;
    struct hs_hidden_thread thread;
    _Atomic uint32_t threads;
    struct hs_perf_rings *rings;
    void *record;           // HS_RING_RECORD_MAX bytes
    struct hs_thread *self; // the thread's records; NULL: it takes no samples
    uint32_t pid;
    _Atomic uint32_t ready, quit;
    _Atomic uint32_t held; // threads that unload code, before which all was taken out
    uint32_t pauses;       // of the recording, since when samples were thrown away
    bool mapped;           // code, since the modules were looked at
    bool recorded;         // the newest sample was not
    struct hs_cpu_clocks clocks;
    struct hs_thread_stacks stacks;
} perf;

static void say(const char *line)
{
    hs_log(HS_LOG_WARN, "perf events: ", line, 0);
    hs_journal__info("perf", line);
}

// ---- from a sample to an event -------------------------------------------------------------------------------------

static __attribute__((noinline)) void count_drops(enum hs_drop reason, uint64_t count)
{
    hs_shared_word__add(&hs_output__live()->dropped[reason], (uint32_t)count);
}

static void put(uint32_t kind, uint32_t tid, uint64_t stack, uint64_t weight, uint64_t address, uint64_t time)
{
    uint64_t now = hs_clock__monotonic_ns();
    uint64_t words[] = {kind | (uint64_t)tid << 32, stack, weight, address, now > time ? now - time : 0};
    hs_record__wide(perf.self, NULL, HS_WIDE_SAMPLE, words, 5, HS_RECORD_NO_STACK, 0);
}

// Mappings that were made without the loader, or over existing ones, are known only from here.
static void look_at_modules(void)
{
    if (atomic_load(&perf.held))
        return;
    if (perf.mapped && hs_stacks__forget_unloaded((uint32_t)hs_system_gettid()))
        hs_unwind_forget_rules();
    perf.mapped = false;
}

static uint32_t identify(void)
{
    uint32_t stack = hs_stacks__identify(perf.self->memo, 0, (uint32_t)hs_system_gettid());
    if (!stack)
        count_drops(HS_DROP_STACK_TABLE, 1);
    return stack;
}

#if HS_PERF_HAS_WITNESSES
// Whether the chain's frames from `first` on are those of the memo behind `skipped` inner ones.
static bool is_same_stack(const struct hs_memo *memo, const struct hs_perf_sample *sample, uint64_t first,
                          uint32_t skipped)
{
    uint32_t count = memo->depth - skipped;
    if (memo->depth <= skipped || count > sample->chain_length - first)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (sample->chain[first + i] != memo->pcs[count - 1 - i])
            return false;
    return true;
}

// The chain's place of the outermost frame that was found; 0: it is not there. The chain begins with a marker and the
// interrupted pc; where that is in a prologue the kernel passes over the caller.
static uint64_t place_in_chain(const struct hs_memo *memo, const struct hs_perf_sample *sample)
{
    for (uint32_t skipped = 1; sample->chain_length > 2 && skipped <= 2; skipped++)
        if (is_same_stack(memo, sample, 2, skipped))
            return 1 + memo->depth - skipped;
    return 0;
}

// Continues with the kernel's call chain where the copy of the stack ends, if the chain contains the frames that were
// found. It is unknown whether the chain ends at the outermost frame, so the stack still counts as cut.
static void go_on_with_chain(struct hs_memo *memo, const struct hs_perf_sample *sample)
{
    uint64_t at = memo->end == HS_END_CUT_COPY ? place_in_chain(memo, sample) : 0;
    if (!at)
        return;
    uint64_t more = sample->chain_length - at - 1;
    if (more > memo->capacity - memo->depth)
        return;
    __builtin_memmove(&memo->pcs[more], memo->pcs, memo->depth * sizeof *memo->pcs);
    __builtin_memmove(&memo->marks[more], memo->marks, memo->depth * sizeof *memo->marks);
    for (uint64_t i = 0; i < more; i++) {
        memo->pcs[i] = (uintptr_t)sample->chain[sample->chain_length - 1 - i];
        memo->marks[i] = 0;
    }
    memo->depth += (uint32_t)more;
}
#endif

static uint32_t stack_of(const struct hs_perf_sample *sample)
{
    struct hs_memo *memo = perf.self->memo;
    struct hs_live *live = hs_output__live();
    if (sample->snapshot.copy)
        hs_thread_stacks__see(&perf.stacks, sample->tid, sample->snapshot.registers.values[HS_DWARF_SP]);
    if (!sample->has_stack) {
        count_drops(HS_DROP_NO_REGISTERS, 1);
        return 0;
    }
    if (atomic_load(&perf.held)) {
        count_drops(HS_DROP_UNLOADING, 1);
        return 0;
    }
    look_at_modules();
    if (hs_config.deferred_stacks && sample->snapshot.copy)
        return hs_deferred__stack(&sample->snapshot);
    hs_memo_take_snapshot(memo, &sample->snapshot);
#if HS_PERF_HAS_WITNESSES
    go_on_with_chain(memo, sample);
#endif
    if (memo->end != HS_END_ROOT)
        hs_shared_word__add(&live->truncated[memo->end], 1);
    if (memo->guessed)
        hs_shared_word__add(&live->guessed, 1);
    return identify();
}

#if HS_PERF_HAS_WITNESSES
// The chain begins in the recorder; the frame that called it is known.
static void take_witness(const struct hs_perf_sample *sample)
{
    struct hs_witness witness = hs_witness__of(sample->address);
    struct hs_memo *memo = perf.self->memo;
    uint64_t length = 0;
    if (!witness.pc)
        return;
    for (uint64_t i = 0; i < sample->chain_length && length < memo->capacity; i++)
        if (sample->chain[i] < (uint64_t)PERF_CONTEXT_MAX)
            length++;
    // In place of the innermost one, which is the recorder's.
    uint64_t frame = memo->depth = (uint32_t)(length ? length : 1);
    memo->pcs[--frame] = witness.pc;
    for (uint64_t i = 0, seen = 0; frame && i < sample->chain_length; i++)
        if (sample->chain[i] < (uint64_t)PERF_CONTEXT_MAX && seen++)
            memo->pcs[--frame] = (uintptr_t)sample->chain[i];
    memo->end = HS_END_ROOT;
    memo->guessed = false;
    put(HS_SAMPLE_WITNESS, sample->tid, identify(), witness.stack, 0, sample->time);
}
#endif

static void end_run(struct hs_fault_run *run)
{
    if (run->end)
        put(HS_SAMPLE_FAULT, run->tid, (run->last - run->first) << 32, run->end - run->start, run->address, run->last);
    run->end = 0;
}

// The page size is used only if it is plausible.
static uint64_t size_of_page(const struct hs_perf_sample *sample)
{
    uint64_t size = sample->page_size, least = hs_memory__page_size();
    return size < least || size > LARGEST_PAGE || (size & (size - 1)) ? least : size;
}

// Neighbours that are touched one after the other are one event, whose pages are taken to be spread evenly over its
// time.
static void add_fault(struct hs_fault_run *run, const struct hs_perf_sample *sample)
{
    uint64_t size = size_of_page(sample), start = sample->address & ~(size - 1);
    if (run->end != start || run->tid != sample->tid || (sample->time - run->first) / LONGEST_RUN_NS) {
        end_run(run);
        uint64_t first = size == hs_memory__page_size() ? sample->address : start;
        *run = (struct hs_fault_run){sample->tid, first, start, 0, sample->time, 0};
    }
    run->end = start + size;
    run->last = sample->time;
}

static void emit_cpu_clock(uint32_t tid, uint64_t ns)
{
    put(HS_SAMPLE_CPU_CLOCK, tid, 0, ns, perf.pauses, hs_clock__monotonic_ns());
}

static __attribute__((noinline)) void ask_for_clock(uint32_t tid)
{
    hs_cpu_clocks__sampled(&perf.clocks, tid, emit_cpu_clock);
}

static __attribute__((noinline)) void put_cpu_time(const struct hs_perf_sample *sample, uint32_t stack,
                                                   uint64_t samples)
{
    put(HS_SAMPLE_CPU, sample->tid, stack, samples * 1000000000 / hs_config.cpu_frequency, 0, sample->time);
    // Otherwise the time in the kernel would be attributed to what the thread did before and after.
    if (!perf.rings->without_kernel)
        ask_for_clock(sample->tid);
}

static void take_sample(struct hs_perf_ring *ring, const struct hs_perf_sample *sample)
{
    if (ring->role == HS_PERF_FAULT) {
        add_fault(&ring->run, sample);
#if HS_PERF_HAS_WITNESSES
    } else if (ring->role == HS_PERF_WITNESS) {
        take_witness(sample);
#endif
    } else if (ring->role == HS_PERF_SWITCH) {
        put(HS_SAMPLE_OFF_CPU, sample->tid, stack_of(sample), hs_config.switch_stacks, 0, sample->time);
    } else if (sample->address) {
        put(HS_SAMPLE_FAULT_STACK, sample->tid, stack_of(sample), hs_config.fault_stacks, sample->address,
            sample->time);
    } else {
        put_cpu_time(sample, stack_of(sample), 1);
    }
}

// Whether the sample is of this process, and wanted now.
static bool is_recorded(const struct hs_perf_sample *sample)
{
    bool recording = hs_mode() & HS_MODE_ALLOC;
    perf.pauses += perf.recorded && !recording;
    perf.recorded = recording;
    return recording && sample->pid == perf.pid;
}

// After lost records, it is unknown which threads are off the processor, because a record of a return may be missing.
// CPU time of missing samples gets no stack: that of adjacent samples would be wrong.
static void lose(struct hs_perf_ring *ring, uint64_t count, const struct hs_perf_sample *sample)
{
    count_drops(HS_DROP_SAMPLES, count);
    if (!count)
        return;
    if (ring->role == HS_PERF_SWITCH)
        put(HS_SAMPLE_ON_CPU, 0, 0, 0, 0, hs_clock__monotonic_ns());
    if (ring->role == HS_PERF_INTERRUPTED && sample && (hs_config.events & HS_EVENTS_CPU) && is_recorded(sample))
        put_cpu_time(sample, 0, count);
}

static void take_record(struct hs_perf_ring *ring, size_t length)
{
    struct hs_perf_sample sample;
    hs_perf_sample__read(perf.record, length, ring->type, &sample);
    switch (sample.kind) {
    case HS_SAMPLE_TAKEN:
        if (is_recorded(&sample))
            take_sample(ring, &sample);
        break;
    case HS_SAMPLE_CODE_MAPPED:
        perf.mapped |= sample.pid == perf.pid;
        break;
    case HS_SAMPLE_SWITCHED_IN:
        if (is_recorded(&sample))
            put(HS_SAMPLE_ON_CPU, sample.tid, 0, 0, 0, sample.time);
        break;
    case HS_SAMPLE_LOST:
        lose(ring, sample.lost, &sample);
        break;
    case HS_SAMPLE_DAMAGED:
        lose(ring, 1, NULL);
        break;
    case HS_SAMPLE_OTHER:
        break;
    }
}

static bool is_awaited(void)
{
    return atomic_load(&perf.lock.word) & HS_LOCK_CONTENDED;
}

// Returns whether there may be more. If this thread gives the lock up, the thread that waits for it reads the rest.
static bool drain_ring(struct hs_perf_ring *ring, bool gives_way)
{
    uint64_t damaged = ring->ring.damaged;
    size_t length = 1;
    for (int i = 0;
         i < BATCH && !(gives_way && is_awaited()) && (length = hs_kernel_ring__next(&ring->ring, perf.record)); i++)
        take_record(ring, length);
    end_run(&ring->run);
    lose(ring, ring->ring.damaged - damaged, NULL);
    return length != 0;
}

static bool see_own_stack(uintptr_t address)
{
    return hs_thread_stacks__see_own(&perf.stacks, address);
}

static void emit_stack(uint64_t start, uint64_t end)
{
    put(HS_SAMPLE_STACK_RANGE, 0, 0, end - start, start, hs_clock__monotonic_ns());
}

// They say what the pages of faults are.
static void find_stacks(void)
{
    if (!(hs_config.events & HS_EVENTS_FAULTS) || !perf.self)
        return;
    hs_threads__take_stacks(see_own_stack);
    hs_thread_stacks__find(&perf.stacks, "/proc/self/maps", emit_stack);
}

// Under the lock.
static bool drain(bool gives_way)
{
    bool more = false;
    hs_module_look_again();
    for (unsigned i = 0; perf.self && i < perf.rings->count; i++)
        more |= drain_ring(&perf.rings->ring[i], gives_way);
    hs_cpu_clocks__emit(&perf.clocks, emit_cpu_clock);
    find_stacks();
    look_at_modules();
    return more;
}

// ---- the thread ----------------------------------------------------------------------------------------------------

static long wait_for_samples(struct pollfd *files)
{
    unsigned count = perf.rings->count;
    for (unsigned i = 0; i < count; i++)
        files[i] = (struct pollfd){.fd = perf.rings->ring[i].fd, .events = POLLIN};
    return hs_system_poll(files, count, IDLE_NS);
}

static void work(uint32_t tid)
{
    static struct pollfd files[HS_PERF_ROLES * HS_PERF_PROCESSORS];
    while (!atomic_load(&perf.quit)) {
        wait_for_samples(files);
        for (bool more = true; more && hs_lock__acquire(&perf.lock, tid);) {
            more = !atomic_load(&perf.held) && drain(true) && !is_awaited();
            hs_lock__release(&perf.lock);
        }
    }
}

static void emit_what_is_missing(void)
{
    if (hs_config.events & HS_EVENTS_CPU)
        hs_journal__info("cpu-clock", perf.rings->cycles ? "cycles" : "task");
    if (hs_config.cycles && !perf.rings->cycles)
        say("by the task clock: cycles are not counted here");
    if (perf.rings->without_stack)
        say("without stacks: this kernel copies no registers and stacks for samples");
    if (perf.rings->without_kernel)
        say("user mode alone: kernel.perf_event_paranoid 1 would add the kernel's work for the program, and "
            "off-cpu");
    if (perf.rings->incomplete)
        say("not every thread is sampled: raise the limit of open files");
}

// Called when the events are open: records the values from which they count.
static long begin_samples(uint32_t tid)
{
    if (!hs_lock__acquire(&perf.lock, tid))
        return -EDEADLK;
    perf.pauses = hs_config.disabled;
    perf.self = hs_threads__register();
    if (perf.self)
        atomic_store(&perf.self->stack, 0); // not one of the program
    // Later threads begin with a clock of 0.
    long result = perf.self ? hs_perf_rings__open(perf.rings, tid, ask_for_clock) : -ENOMEM;
    if (result)
        perf.self = NULL;
    else if (!hs_config.disabled)
        hs_cpu_clocks__emit(&perf.clocks, emit_cpu_clock);
    hs_lock__release(&perf.lock);
    return result;
}

static void thread_main(void *unused)
{
    (void)unused;
    char line[HS_PERF_LINE];
    uint32_t tid = (uint32_t)hs_system_gettid();
    HS_SYSTEM2(SYS_prctl, PR_SET_NAME, "heapsonde");
    hs_module_look(hs_memory__page_size());
    hs_hidden_thread__close_descriptors(hs_config.log_level != HS_LOG_OFF ? 2 : -1, -1);
    long result = begin_samples(tid);
    atomic_store(&perf.threads, result == 0);
    atomic_store(&perf.ready, 1);
    hs_futex__wake(&perf.ready, 1);
    if (result) {
        hs_perf__explain(result, line);
        say(line);
        return;
    }
    emit_what_is_missing();
    work(tid);
    atomic_store(&perf.threads, 0);
}

// ---- the program's threads -----------------------------------------------------------------------------------------

static long start_thread(void)
{
    perf.pid = (uint32_t)hs_system_getpid();
    long result = hs_hidden_thread__start(&perf.thread, STACK_SIZE, thread_main, NULL, HS_HIDDEN_THREAD);
    // From here on, the program is sampled.
    for (int64_t left = READY_NS; !result && !atomic_load(&perf.ready) && left > 0;)
        left -= hs_futex__wait_part(&perf.ready, 0, IDLE_NS);
    return result;
}

static long prepare(void)
{
#if HS_PERF_HAS_WITNESSES
    if ((hs_config.events & HS_EVENTS_WITNESS) && !hs_witness__start())
        return -ENOMEM;
#endif
    perf.rings = hs_memory__map(sizeof *perf.rings);
    perf.record = hs_memory__map(HS_RING_RECORD_MAX);
    return perf.rings && perf.record ? hs_perf_rings__ask(perf.rings) : -ENOMEM;
}

void hs_perf__start(void)
{
    if (!(hs_config.events & ~(uint32_t)HS_EVENTS_HEAP) || perf.rings)
        return;
    char line[HS_PERF_LINE];
    long result = prepare();
    bool possible = !hs_config.aggregate && hs_slot_source__writer_thread();
    if (!result && !possible) {
        say(hs_config.aggregate ? "none: HEAPSONDE_MODE=aggregate" : "none: the writer has no thread");
        return;
    }
    if (!result)
        result = start_thread();
    if (!result)
        return;
    hs_perf__explain(result, line);
    say(line);
}

// Makes the kernel write a record: with it, it also reports what it lost. The rings of other processors may keep some.
static void ask_for_losses(void)
{
    char name[16];
    if (!HS_SYSTEM2(SYS_prctl, PR_GET_NAME, name))
        HS_SYSTEM2(SYS_prctl, PR_SET_NAME, name);
}

void hs_perf__flush(void)
{
    if (!perf.self || !hs_lock__acquire(&perf.lock, (uint32_t)hs_system_gettid()))
        return;
    for (int turn = 0; turn < 2; turn++) {
        while (drain(false))
            continue;
        if (turn == 0)
            ask_for_losses();
    }
    hs_deferred__emit_modules();
    hs_thread__flush(perf.self);
    hs_lock__release(&perf.lock);
}

uint32_t hs_perf__threads(void)
{
    return atomic_load_explicit(&perf.threads, memory_order_relaxed);
}

void hs_perf__stop(void)
{
    if (!perf.self)
        return;
    hs_perf__flush();
    atomic_store(&perf.quit, 1);
    if (!hs_hidden_thread__join(&perf.thread, JOIN_NS))
        return;
    perf.self = NULL;
    hs_perf_rings__unmap(perf.rings);
    say("ended: the program had to be single-threaded");
}

// The lock is not kept: a thread that unloads may wait for another one that does. What is in the rings then stays
// there.
void hs_perf__hold_code(void)
{
    if (!perf.self)
        return;
    bool locked = hs_lock__acquire(&perf.lock, (uint32_t)hs_system_gettid());
    while (locked && !atomic_load(&perf.held) && drain(false))
        continue;
    if (locked)
        hs_deferred__emit_modules();
    atomic_fetch_add(&perf.held, 1);
    if (locked)
        hs_lock__release(&perf.lock);
}

// Does not count what began before sampling, or in the parent.
void hs_perf__release_code(void)
{
    uint32_t held = atomic_load(&perf.held);
    while (held && !atomic_compare_exchange_weak(&perf.held, &held, held - 1))
        continue;
}

void hs_perf__reset(void)
{
#if HS_PERF_HAS_WITNESSES
    hs_witness__reset();
#endif
    if (perf.rings)
        hs_memory__unmap(perf.rings, sizeof *perf.rings);
    if (perf.record)
        hs_memory__unmap(perf.record, HS_RING_RECORD_MAX);
    hs_hidden_thread__forget(&perf.thread);
    hs_deferred__reset();
    __builtin_memset(&perf, 0, sizeof perf);
}
