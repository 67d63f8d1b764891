// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When a dump is written and by whom.
//
// One lock makes dumps wait for each other. A handler that dumps while its own thread is dumping takes the lock over:
// each dump has its own memory, so the two do not disturb each other; the interrupted one then goes on without the
// lock. Numbers, names and the list of files change with signals blocked.
#include "runtime/prof/dump.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/prof/dump_name.h"
#include "runtime/prof/dump_write.h"
#include "runtime/prof/sampler_threads.h"
#include "runtime/prof/streaming.h"
#include "runtime/stream/dump_pieces.h"
#include "runtime/text.h"

#include <errno.h>

enum { MOST_WAITS = 30 }; // times two seconds that a manual dump waits for another one
#define PAGE 4096u        // by less the high water does not rise

enum { DUE_INTERVAL = 1, DUE_PEAK = 2 };

static struct {
    struct hs_lock lock;
    volatile uint32_t ticket;   // of the holder
    _Atomic uint32_t noted;     // DUE_*: asked for while another dump was written
    _Atomic uint32_t final_was; // 1: hs_dump__final() was called
} dumps;

static struct {
    struct hs_lock lock;
    uint64_t allocated;  // since the last interval ended
    uint64_t peak;       // live bytes at the last high-water dump
    uint64_t last_ns[2]; // when the last interval and high-water dump was due, CLOCK_MONOTONIC; 0: never
} triggers;

void (*volatile hs_dump_hook)(const char *name);

// ---- one dump at a time ---------------------------------------------------------------------------------------------

static uint32_t own_tid(void)
{
    return (uint32_t)hs_system_gettid();
}

// Not in the middle of another dump, unless that one's thread has ended.
// A filter of system calls leaves no dumps.
static bool is_forbidden(void)
{
    return hs_system_forbids(HS_FORBIDDEN_FILES | HS_FORBIDDEN_WRITING);
}

static bool try_lock(uint32_t *ticket)
{
    if (is_forbidden())
        return false;
    uint32_t seen = 0;
    if (!atomic_compare_exchange_strong_explicit(&dumps.lock.word, &seen, own_tid(), memory_order_acquire,
                                                 memory_order_relaxed) &&
        (!hs_thread_is_gone(seen & ~HS_LOCK_CONTENDED) || !hs_lock__acquire(&dumps.lock, own_tid())))
        return false;
    *ticket = ++dumps.ticket;
    return true;
}

static bool wait_for_lock(uint32_t *ticket)
{
    if (is_forbidden())
        return false;
    uint32_t tid = own_tid();
    if (hs_streaming__is_sender()) // the thread that dumps may be waiting for it
        return try_lock(ticket);
    for (int i = 0; i < MOST_WAITS; i++)
        if (hs_lock__acquire(&dumps.lock, tid)) {
            *ticket = ++dumps.ticket;
            return true;
        }
    return false;
}

static void unlock(uint32_t ticket)
{
    if (dumps.ticket == ticket)
        hs_lock__release(&dumps.lock);
}

static bool is_wanted(void)
{
    hs_streaming__begin_if_due();
    return hs_dump_name__is_wanted() || hs_streaming__is_open();
}

// ---- writing --------------------------------------------------------------------------------------------------------

static const char *word_for(enum hs_dump_kind kind)
{
    switch (kind) {
    case HS_DUMP_FINAL:
        return "final";
    case HS_DUMP_INTERVAL:
        return "interval";
    case HS_DUMP_PEAK:
        return "peak";
    default:
        return "manual";
    }
}

// The sender may have rights that the program has dropped, so it writes no files.
static bool next_name(struct hs_dump_job *job, enum hs_dump_kind kind)
{
    struct hs_signal_set signals;
    hs_system_block_signals(&signals);
    bool found = !hs_streaming__is_sender() && hs_dump_name__next(kind, job->name, &job->facts.number);
    hs_system_restore_signals(&signals);
    job->facts.trigger = word_for(kind);
    job->facts.numbered = kind != HS_DUMP_FINAL;
    return found;
}

static void note_written(struct hs_dump_job *job, enum hs_dump_kind kind)
{
    struct hs_signal_set signals;
    hs_system_block_signals(&signals);
    hs_dump_name__written(kind, job->name, job->output.written);
    hs_system_restore_signals(&signals);
}

static void call_hook(const char *name)
{
    void (*hook)(const char *) = hs_dump_hook;
    if (hook)
        hook(name);
}

// Under the lock.
static struct hs_dump_result write_automatic(struct hs_dump_job *job, enum hs_dump_kind kind)
{
    struct hs_dump_result result = {EFAULT, HS_DUMP_STAGE_OPEN};
    bool named = next_name(job, kind);
    if (!named && !hs_streaming__is_open())
        return result;
    job->streamed_as = (char)kind;
    result = (struct hs_dump_result){hs_dump_job__take(job), HS_DUMP_STAGE_WRITE};
    if (result.error)
        return result;
    if (!named) {
        result.error = hs_dump_job__write_stream(job, hs_prof_options.dump_format);
        return result;
    }
    result = hs_dump_job__write_file(job, job->name, hs_prof_options.dump_format, false);
    if (!result.error)
        note_written(job, kind);
    return result;
}

static void complain(struct hs_dump_job *job, struct hs_dump_result result)
{
    struct hs_text text;
    hs_text__start(&text, job->message, sizeof job->message);
    if (result.error == ECANCELED) // in a forked child: the file is its parent's
        return;
    if (result.error == EAGAIN) {
        hs_text__add(&text, "<jemalloc>: no heap profile: asked for in a handler that interrupted the profiler");
    } else if (result.stage == HS_DUMP_STAGE_OPEN) {
        hs_text__add(&text, "<jemalloc>: failed to open \"");
        hs_text__add(&text, job->name);
        hs_text__add(&text, "\"");
    } else {
        hs_text__add(&text, "<jemalloc>: failed to write during heap profile flush");
    }
    hs_text__add(&text, "\n");
    if (hs_prof_options.abort)
        hs_prof_options_abort(job->message);
    hs_prof_options_message(job->message);
}

// Automatic dumps print their errors themselves.
static void finish(struct hs_dump_job *job, enum hs_dump_kind kind, struct hs_dump_result result, uint32_t ticket)
{
    unlock(ticket);
    if (!job->name[0])
        return;
    call_hook(job->name);
    if (result.error && kind != HS_DUMP_MANUAL)
        complain(job, result);
}

static int dump_locked(enum hs_dump_kind kind, char *name, uint32_t ticket)
{
    struct hs_dump_job *job = hs_dump_job__new();
    if (!job) {
        unlock(ticket);
        return ENOMEM;
    }
    struct hs_dump_result result = write_automatic(job, kind);
    if (name)
        __builtin_memcpy(name, job->name, sizeof job->name);
    finish(job, kind, result, ticket);
    hs_dump_job__free(job);
    return result.error;
}

// Dumps that came due while others were written.
static void serve_noted(void)
{
    uint32_t ticket;
    while (atomic_load_explicit(&dumps.noted, memory_order_acquire) && try_lock(&ticket)) {
        uint32_t due = atomic_exchange_explicit(&dumps.noted, 0, memory_order_acq_rel);
        if (due & DUE_INTERVAL)
            dump_locked(HS_DUMP_INTERVAL, NULL, ticket);
        if (due & DUE_PEAK && (!(due & DUE_INTERVAL) || wait_for_lock(&ticket)))
            dump_locked(HS_DUMP_PEAK, NULL, ticket);
        else if (!due)
            unlock(ticket);
    }
}

int hs_dump__automatic(enum hs_dump_kind kind, char *name)
{
    uint32_t ticket;
    if (name)
        name[0] = 0;
    if (!is_wanted())
        return EFAULT;
    if (!wait_for_lock(&ticket))
        return ETIMEDOUT;
    int error = dump_locked(kind, name, ticket);
    serve_noted();
    return error;
}

// Waits for its turn, takes the snapshot. NULL with the reason in *error.
static struct hs_dump_job *begin_manual(uint32_t *ticket, int *error)
{
    *error = ETIMEDOUT;
    if (!wait_for_lock(ticket))
        return NULL;
    struct hs_dump_job *job = hs_dump_job__new();
    *error = ENOMEM;
    if (job) {
        job->facts.trigger = word_for(HS_DUMP_MANUAL);
        *error = hs_dump_job__take(job);
    }
    if (!*error)
        return job;
    unlock(*ticket);
    if (job)
        hs_dump_job__free(job);
    return NULL;
}

static void end_manual(struct hs_dump_job *job, uint32_t ticket)
{
    unlock(ticket);
    hs_dump_job__free(job);
    serve_noted();
}

int hs_dump__to_file(const char *path, enum hs_dump_format format)
{
    uint32_t ticket;
    int error;
    hs_streaming__begin_if_due();
    struct hs_dump_job *job = begin_manual(&ticket, &error);
    if (job) {
        job->streamed_as = HS_DUMP_MANUAL;
        error = hs_dump_job__write_file(job, path, format, true).error;
        end_manual(job, ticket);
    }
    call_hook(path);
    return error;
}

int hs_dump__to_descriptor(int fd, enum hs_dump_format format)
{
    uint32_t ticket;
    int error;
    struct hs_dump_job *job = begin_manual(&ticket, &error);
    if (job) {
        error = hs_dump_job__write_descriptor(job, fd, format);
        end_manual(job, ticket);
    }
    return error;
}

void hs_dump__set_prefix(const char *prefix)
{
    hs_dump_name__set_prefix(prefix);
}

// ---- the end of the process -----------------------------------------------------------------------------------------

static uint64_t live_stacks(const struct hs_profile_snapshot *snapshot)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < snapshot->pair_count;) {
        struct hs_counts live, total;
        i = hs_dump__sum_stack(snapshot, i, &live, &total);
        count += live.objects != 0;
    }
    return count;
}

static void add_amount(struct hs_text *text, const char *before, uint64_t amount, const char *unit)
{
    hs_text__add(text, before);
    hs_text__add_number(text, amount);
    hs_text__add(text, unit);
    hs_text__add(text, amount == 1 ? "" : "s");
}

static void report_leak(struct hs_dump_job *job, bool has_file)
{
    const struct hs_counts *live = &job->snapshot.live;
    struct hs_text text;
    hs_text__start(&text, job->message, sizeof job->message);
    add_amount(&text, "<jemalloc>: Leak approximation summary: ~", live->estimated_bytes, " byte");
    add_amount(&text, ", ~", (live->estimated_objects_q16 + 32768) >> 16, " object");
    add_amount(&text, ", >= ", live_stacks(&job->snapshot), " context");
    hs_text__add(&text, "\n");
    hs_prof_options_message(job->message);
    if (!has_file)
        return;
    hs_text__start(&text, job->message, sizeof job->message);
    hs_text__add(&text, "<jemalloc>: Run jeprof on \"");
    hs_text__add(&text, job->name);
    hs_text__add(&text, "\" for leak detail\n");
    hs_prof_options_message(job->message);
}

static int final_locked(uint32_t ticket)
{
    struct hs_dump_job *job = hs_dump_job__new();
    if (!job) {
        unlock(ticket);
        return 0;
    }
    struct hs_dump_result result = write_automatic(job, HS_DUMP_FINAL);
    finish(job, HS_DUMP_FINAL, result, ticket);
    bool leaks = hs_prof_options.leak && job->has_snapshot && job->snapshot.live.objects;
    if (leaks)
        report_leak(job, !result.error);
    hs_dump_job__free(job);
    if (!leaks || !hs_prof_options.leak_error)
        return 0;
    hs_prof_options_message("<jemalloc>: Exiting with error code because memory leaks were detected\n");
    return 1;
}

int hs_dump__final(void)
{
    uint32_t ticket;
    if (!hs_prof_options.final || !hs_sampler__is_on() || !is_wanted() || atomic_exchange(&dumps.final_was, 1) ||
        !wait_for_lock(&ticket))
        return 0;
    return final_locked(ticket);
}

// ---- triggers -------------------------------------------------------------------------------------------------------

bool hs_dump__watches(void)
{
    return atomic_load_explicit(&hs_sampler.on, memory_order_relaxed) &&
           (hs_prof_options.interval_bytes || atomic_load_explicit(&hs_sampler.gdump, memory_order_relaxed));
}

// Whether enough time has passed since the last dump of a kind; notes the time when it has.
static bool is_time(unsigned kind)
{
    if (!hs_prof_options.min_seconds)
        return true;
    uint64_t now = hs_clock__monotonic_ns();
    if (triggers.last_ns[kind] && (now - triggers.last_ns[kind]) / 1000000000 < hs_prof_options.min_seconds)
        return false;
    triggers.last_ns[kind] = now;
    return true;
}

static bool interval_is_due(uint64_t allocated)
{
    uint64_t interval = hs_prof_options.interval_bytes;
    if (!interval)
        return false;
    triggers.allocated += allocated;
    if (triggers.allocated < interval || !is_time(0))
        return false;
    triggers.allocated %= interval;
    return true;
}

static bool peak_is_due(uint64_t live)
{
    if (!atomic_load_explicit(&hs_sampler.gdump, memory_order_relaxed) ||
        !atomic_load_explicit(&hs_sampler.active, memory_order_relaxed) || live < hs_prof_options.peak_floor ||
        live <= triggers.peak)
        return false;
    uint64_t step = hs_prof_options.peak_step, share = triggers.peak / 100 * hs_prof_options.peak_percent;
    if (step < share)
        step = share;
    if (live - triggers.peak < (step < PAGE ? PAGE : step) || !is_time(1))
        return false;
    triggers.peak = live;
    return true;
}

// No signal need be blocked: a handler that allocates meanwhile does not come by here.
static uint32_t find_due(uint64_t allocated, uint64_t live)
{
    if (!hs_lock__acquire(&triggers.lock, hs_sampler_self->tid))
        return 0;
    uint32_t due = (interval_is_due(allocated) ? DUE_INTERVAL : 0) | (peak_is_due(live) ? DUE_PEAK : 0);
    hs_lock__release(&triggers.lock);
    return due;
}

void hs_dump__consider(uint64_t allocated, uint64_t live)
{
    uint32_t due = find_due(allocated, live);
    if (!due || !is_wanted())
        return;
    atomic_fetch_or_explicit(&dumps.noted, due, memory_order_acq_rel);
    serve_noted();
}

// ---- fork -----------------------------------------------------------------------------------------------------------

uint32_t hs_dump__before_fork(void)
{
    return hs_lock__acquire(&dumps.lock, own_tid()) ? ++dumps.ticket : 0;
}

void hs_dump__after_fork(bool in_child, uint32_t ticket)
{
    if (!in_child) {
        if (ticket)
            unlock(ticket);
        return;
    }
    atomic_store(&dumps.lock.word, 0);
    atomic_store(&triggers.lock.word, 0);
    atomic_store(&dumps.noted, 0);
    dumps.ticket++; // a dump that this thread was in the middle of is the parent's
    hs_dump_name__after_fork();
}
