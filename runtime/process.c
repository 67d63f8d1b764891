// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/process.h"

#include "arch/system.h"
#include "format/attach.h"
#include "format/meta.h"
#include "runtime/aggregate/aggregate.h"
#include "runtime/clock.h"
#include "runtime/cull.h"
#include "runtime/embed.h"
#include "runtime/journal.h"
#include "runtime/lock.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/modules.h"
#include "runtime/output.h"
#include "runtime/perf/perf.h"
#include "runtime/python.h"
#include "runtime/seal.h"
#include "runtime/shared_word.h"
#include "runtime/signal_action.h"
#include "runtime/stacks.h"
#include "runtime/stream/stream.h"
#include "runtime/tables.h"
#include "runtime/text.h"
#include "runtime/threads.h"
#include "runtime/writer.h"
#include "runtime/zygote.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { FIRST_SLOTS = 4, INFO_SIZE = 16384 };

char hs_process__attached[HS_ATTACH_INFO] __attribute__((used));

static struct {
    struct hs_lock lock; // begin, materialize, exit, toggling
    bool begun;          // a trace exists, or will at the first event
    bool closed;
    uint32_t pid;
    _Atomic uint32_t toggle_pending;
    uint64_t forked_at;
    char ignored[256]; // names of variables that are not understood, a space before each
} process;

extern int sigaction(int signal, const struct sigaction *action, struct sigaction *old) __attribute__((weak));

static void become_passive(const char *why, const char *detail, int error)
{
    hs_recording__give_up();
    hs_log(HS_LOG_ERROR, why, detail, error);
}

// ---- what the trace says about the process -------------------------------------------------------------------------

// Nothing, if the length is that of an error.
static void add_bytes(struct hs_meta_writer *writer, const char *key, const char *bytes, long length)
{
    hs_meta_info(writer, key, hs_text__length(key), bytes, length > 0 ? (size_t)length : 0);
}

static void add_info(struct hs_meta_writer *writer, const char *key, const char *value)
{
    add_bytes(writer, key, value, (long)hs_text__length(value));
}

static void add_number(struct hs_meta_writer *writer, const char *key, uint64_t value)
{
    char number[24];
    struct hs_text text;
    hs_text__start(&text, number, sizeof number);
    hs_text__add_number(&text, value);
    add_info(writer, key, number);
}

// An emulator shows the program in its own place, but not below /proc/thread-self.
static void add_process_info(struct hs_meta_writer *writer)
{
    static char text[4096]; // under process.lock
    add_bytes(writer, "executable", text, hs_system_executable(text, sizeof text));
    add_bytes(writer, "executed", text, hs_system_readlink("/proc/thread-self/exe", text, sizeof text));
    add_bytes(writer, "command", text, (long)hs_text__read_file("/proc/self/cmdline", text, sizeof text));
    add_bytes(writer, "directory", text, HS_SYSTEM2(SYS_getcwd, text, sizeof text) - 1);
    if (hs_process__attached[0])
        add_info(writer, "attached", hs_process__attached);
}

static void add_machine_info(struct hs_meta_writer *writer)
{
    struct utsname names;
    if (HS_SYSTEM1(SYS_uname, &names) != 0)
        return;
    add_info(writer, "host", names.nodename);
    add_info(writer, "kernel", names.release);
    add_info(writer, "machine", names.machine);
    add_number(writer, "page-size", hs_memory__page_size());
}

static void add_mode_info(struct hs_meta_writer *writer)
{
    if (hs_config.cull)
        add_number(writer, "cull", hs_config.cull_threshold_ms);
    if (!hs_aggregate__is_on())
        return;
    add_info(writer, "mode", "aggregate");
    add_number(writer, "aggregate-interval", hs_config.aggregate_interval);
}

static void write_info(void)
{
    static uint8_t buffer[INFO_SIZE]; // under process.lock
    struct hs_meta_writer writer;
    hs_meta_begin(&writer, buffer, sizeof buffer);
    hs_meta_clock(&writer, 0, hs_clock.start_monotonic_ns,
                  hs_clock__realtime_ns() - (hs_clock__monotonic_ns() - hs_clock.start_monotonic_ns));
    add_info(&writer, "recorder", "heapsonde " HEAPSONDE_VERSION);
    add_process_info(&writer);
    add_machine_info(&writer);
    add_mode_info(&writer);
    if (process.ignored[0])
        add_info(&writer, "ignored-variables", process.ignored + 1);
    hs_sealer__append_meta(&hs_sealers[0], buffer, (uint32_t)(writer.at - buffer), 0);
    // From two points a reader knows the counter's rate, should the process be killed soon.
    hs_seal__point();
}

// ---- start ---------------------------------------------------------------------------------------------------------

static bool open_trace(void)
{
    int failed = hs_output__create(process.forked_at);
    if (failed) {
        become_passive("nothing is recorded: cannot create ", hs_output__path(), -failed);
        return false;
    }
    if (!hs_seal__prepare()) {
        become_passive("nothing is recorded: out of memory", NULL, 0);
        return false;
    }
    write_info();
    hs_embed__included_files();
    if (hs_config.events & ~HS_EVENTS_HEAP)
        hs_embed__vdso();
    return true;
}

// The slots come before the descriptor goes to the writer's thread.
static bool start_writing(bool inline_writer)
{
    if (!hs_output__add_slots(FIRST_SLOTS)) {
        become_passive("nothing is recorded: out of memory", NULL, 0);
        return false;
    }
    if (!hs_writer__start(inline_writer))
        return false;
    hs_perf__start();
    return true;
}

static bool be_ready(void)
{
    return (hs_output__is_open() || open_trace()) &&
           (hs_writer__has_started() || start_writing(hs_config.inline_writer || process.closed));
}

// The first record finds no slot and has them made: a process without any leaves little. Samples and a host do not wait
// for that.
static bool begin_trace(void)
{
    bool heap_alone = !(hs_config.events & ~HS_EVENTS_HEAP) && !hs_stream__is_wanted();
    return heap_alone ? open_trace() : be_ready();
}

static bool begin(void)
{
    hs_clock__start();
    if (!begin_trace())
        return false;
    process.begun = true;
    hs_log(HS_LOG_INFO, "recording to ", hs_config.output[0] ? hs_output__path() : "the stream alone", 0);
    return true;
}

static void map_shared(void)
{
    size_t page = hs_memory__page_size();
    struct hs_shared *shared = hs_memory__map(page);
    if (!shared)
        return;
    HS_SYSTEM3(SYS_madvise, shared, page, MADV_WIPEONFORK);
    hs_shared = shared;
}

// The trace gets the name alone: the value may be a secret.
static void complain(const char *entry)
{
    struct hs_text text;
    size_t used = hs_text__length(process.ignored);
    hs_log(HS_LOG_ERROR, "not understood and ignored: ", entry, 0);
    hs_text__start(&text, process.ignored + used, sizeof process.ignored - used);
    for (hs_text__add_character(&text, ' '); *entry && *entry != '='; entry++)
        hs_text__add_character(&text, *entry);
}

static void share_memory(void)
{
    if (!hs_config.memory)
        hs_config.memory = HS_MEMORY_DEFAULT;
    if (hs_config.memory < HS_MEMORY_LEAST)
        hs_config.memory = HS_MEMORY_LEAST;
    if (hs_config.memory > INT32_MAX)
        hs_config.memory = INT32_MAX;
    // Sums are kept by the number of a stack, and all nodes: a stack should have only one number.
    hs_stacks__set_window(hs_config.aggregate ? SIZE_MAX : (size_t)hs_config.memory / 8);
    hs_modules__set_limit((size_t)hs_config.memory / 8);
}

static bool materialize(void);

static void start(void)
{
    uint32_t expected = HS_RECORDING_UNSTARTED;
    if (!atomic_compare_exchange_strong(&hs_recording.state, &expected, HS_RECORDING_STARTING))
        return;
    hs_config__read(complain);
    share_memory();
    if (hs_config.unread) {
        become_passive("nothing is recorded: the program has other rights than its caller", NULL, 0);
        return;
    }
    process.pid = (uint32_t)hs_system_getpid();
    hs_writer__set_owner(materialize, hs_process__exit);
    if (hs_config.output[0] == 0 && !hs_stream__is_wanted()) {
        become_passive("nothing is recorded: HEAPSONDE_OUTPUT is empty, and nothing is streamed", NULL, 0);
        return;
    }
    map_shared();
    hs_config.inline_writer |= hs_is_zygote();
    if (hs_config.disabled || hs_process__attached[0])
        hs_tables__close();
    // A host may have recording begin.
    bool paused = hs_config.disabled && hs_stream__is_wanted();
    if ((!hs_config.disabled || paused) && !begin())
        return;
    if (paused)
        hs_journal__toggle(false);
    atomic_store(&hs_shared->alive, 1);
    atomic_store(&hs_recording.state, HS_RECORDING_RUNNING);
    hs_config.says_obstacles = false;
    if (process.begun)
        hs_recording__set_mode(paused ? HS_MODE_FREE : HS_MODE_ALLOC | HS_MODE_FREE);
}

static void carry_out_toggle(void)
{
    bool recorded = hs_recording.mode & HS_MODE_ALLOC;
    if (!atomic_exchange(&process.toggle_pending, 0))
        hs_recording__set_mode(hs_recording.mode);
    else
        hs_process__set_recording(!recorded);
}

uint32_t hs_process__wake(void)
{
    uint32_t state = atomic_load_explicit(&hs_recording.state, memory_order_acquire);
    if (state == HS_RECORDING_UNSTARTED)
        start();
    else if (state == HS_RECORDING_RUNNING && !atomic_load_explicit(&hs_shared->alive, memory_order_relaxed))
        hs_process__after_fork();
    else if (state == HS_RECORDING_RUNNING && (process.toggle_pending || hs_mode() != hs_recording.mode))
        carry_out_toggle();
    return hs_mode();
}

// The handler may interrupt the recorder itself, so it only leaves word: with mode 0 the next hook comes to
// hs_process__wake() and finds it.
void hs_process__toggle_on_signal(int signal)
{
    (void)signal;
    if (atomic_load(&hs_recording.state) != HS_RECORDING_RUNNING)
        return;
    atomic_fetch_xor(&process.toggle_pending, 1);
    atomic_store(&hs_shared->mode, 0);
}

// Takes a signal only if it is not used; the program may still install its own handler.
static void take_signal(int number)
{
    union hs_signal_action old = {0}, ours = {0};
    hs_signal_action__set(&ours.action, hs_process__toggle_on_signal, SA_RESTART);
    if (sigaction && sigaction(number, NULL, &old.action) == 0 && hs_signal_action__handler(&old.action) == SIG_DFL &&
        !(hs_signal_action__flags(&old.action) & SA_SIGINFO))
        sigaction(number, &ours.action, NULL);
}

void hs_process__libc_is_ready(void)
{
    hs_process__wake();
    if (atomic_load(&hs_recording.state) != HS_RECORDING_RUNNING)
        return;
    if (hs_config.sigusr1)
        take_signal(SIGUSR1);
    if (hs_config.sigusr2)
        take_signal(SIGUSR2);
}

// ---- toggling ------------------------------------------------------------------------------------------------------

bool hs_process__is_recording(void)
{
    return hs_mode() & HS_MODE_ALLOC;
}

void hs_process__set_recording(bool on)
{
    hs_process__wake();
    if (atomic_load(&hs_recording.state) != HS_RECORDING_RUNNING ||
        !hs_lock__acquire(&process.lock, (uint32_t)hs_system_gettid()))
        return;
    struct hs_thread *self = hs_thread_self;
    uint32_t inside = self ? self->inside : 0;
    if (self)
        self->inside = HS_INSIDE_RECORDER;
    if (process.begun ? on != ((hs_recording.mode & HS_MODE_ALLOC) != 0) : on) {
        bool ready = process.begun || begin();
        if (ready) {
            hs_journal__toggle(on);
            hs_recording__set_mode(on ? HS_MODE_ALLOC | HS_MODE_FREE : HS_MODE_FREE);
        }
    }
    if (self)
        self->inside = inside;
    hs_lock__release(&process.lock);
}

// ---- fork, exec, exit ----------------------------------------------------------------------------------------------

static bool is_this_process(void)
{
    // A vfork child runs in our memory but is not us.
    return atomic_load_explicit(&hs_shared->alive, memory_order_relaxed) && (uint32_t)hs_system_getpid() == process.pid;
}

// And has begun to record.
static bool is_recorder(void)
{
    return process.begun && is_this_process();
}

// Resets after fork: one entry for each module with state. The order does not matter, except that stacks are reset
// before threads drop theirs. These are macros, because a table of function addresses would be larger.
#define AFTER_FORK(X)                                                                                                  \
    X(hs_output__abandon)                                                                                              \
    X(hs_stream__reset)                                                                                                \
    X(hs_slots__reset)                                                                                                 \
    X(hs_journal__reset)                                                                                               \
    X(hs_stacks__reset)                                                                                                \
    X(hs_python__reset)                                                                                                \
    X(hs_modules__reset)                                                                                               \
    X(hs_threads__reset)                                                                                               \
    X(hs_writer__reset)                                                                                                \
    X(hs_perf__reset)                                                                                                  \
    X(hs_sealer__reset_all)                                                                                            \
    X(hs_cull__reset)                                                                                                  \
    X(hs_aggregate__reset)                                                                                             \
    X(hs_embed__reset)                                                                                                 \
    X(hs_clock__start)
#define RESET(reset) reset();

void hs_process__after_fork(void)
{
    // The program's own fork handlers may have allocated: then this is done.
    if (atomic_load(&hs_recording.state) != HS_RECORDING_RUNNING || is_this_process())
        return;
    atomic_store(&hs_shared->mode, 0); // also where the kernel did not wipe the page
    // Forked by a signal handler in the middle of a record, which would go on into the parent's buffer; or what is
    // written to the descriptor is the parent's trace.
    if ((hs_thread_self && hs_thread_self->inside == HS_INSIDE_RECORDER) || hs_config.output_descriptor >= 0) {
        atomic_store(&hs_recording.state, HS_RECORDING_PASSIVE);
        return;
    }
    process.lock = (struct hs_lock){0};
    process.pid = (uint32_t)hs_system_getpid();
    process.closed = false;
    if (process.begun) {
        process.forked_at = hs_clock__now() + 1;
        AFTER_FORK(RESET)
    }
    atomic_store(&hs_shared->alive, 1);
    // The first record finds no slot, and makes the file: what is recorded is in it from then on, even after a kill.
    if (process.begun)
        hs_recording__set_mode(hs_recording.mode);
}

// Creates the file of a forked child, which is postponed until there is something to write. True: there is a writer.
static bool materialize(void)
{
    if (!is_recorder() || hs_output__stopped())
        return false;
    if (!hs_lock__acquire(&process.lock, (uint32_t)hs_system_gettid()))
        return false;
    bool ready = be_ready();
    hs_lock__release(&process.lock);
    return ready;
}

// At the end samples are taken no more: those from behind it would reach the file, but not a stream.
static __attribute__((noinline)) void flush(struct hs_thread *self, bool ends)
{
    if (self)
        hs_thread__flush(self);
    hs_perf__flush();
    if (ends) {
        hs_process__code_will_be_unloaded();
        hs_threads__collect_dead();
    }
    hs_stacks__flush((uint32_t)hs_system_gettid());
    hs_journal__flush_others();
}

bool hs_process__sync(void)
{
    struct hs_thread *self = hs_thread_self;
    if (!is_recorder())
        return false;
    if (self)
        self->inside = HS_INSIDE_RECORDER;
    bool open = hs_output__is_open() || materialize();
    flush(self, false);
    bool done = open && hs_writer__sync();
    if (self)
        self->inside = HS_OUTSIDE;
    return done;
}

void hs_process__exit(void)
{
    if (!is_recorder() || process.closed)
        return;
    struct hs_thread *self = hs_thread_self;
    process.closed = true;
    if (self)
        self->inside = HS_INSIDE_RECORDER;
    // A forked child that recorded nothing leaves no file.
    if (hs_output__is_open() || (self && self->slot && materialize())) {
        flush(self, true);
        hs_writer__close(HS_STATE_CLOSED);
        hs_stream__end();
    }
    if (self)
        self->inside = HS_OUTSIDE;
}

void hs_process__detach(void)
{
    hs_process__exit();
    hs_process__be_single_threaded();
    if (is_recorder()) {
        hs_stream__leave();
        hs_writer__leave();
    }
    hs_threads__disown();
    hs_recording__give_up();
}

// A recording that has ended stays so.
static void change_state(uint32_t from, uint32_t to)
{
    if (is_recorder())
        hs_shared_word__change(&hs_output__live()->state, from, to);
}

// The contents of slots are not in the sums yet, and statistics of culled blocks were not written.
static void emit_before_exec(void)
{
    bool recording = hs_thread_self && hs_thread_self->inside == HS_INSIDE_RECORDER;
    if ((hs_aggregate__is_on() || hs_cull__is_on()) && !recording && is_recorder() && hs_output__is_open())
        hs_process__sync();
}

void hs_process__before_exec(void)
{
    emit_before_exec();
    if (is_this_process())
        hs_perf__flush();
    change_state(HS_STATE_RECORDING, HS_STATE_EXEC);
}

void hs_process__after_failed_exec(void)
{
    change_state(HS_STATE_EXEC, HS_STATE_RECORDING);
}

void hs_process__be_single_threaded(void)
{
    if (!is_recorder())
        return;
    hs_perf__stop();
    // With the lock, no other thread starts one either.
    if (hs_lock__acquire(&process.lock, (uint32_t)hs_system_gettid())) {
        hs_writer__become_inline();
        hs_lock__release(&process.lock);
    }
    hs_stream__pause();
}

void hs_process__has_been_single_threaded(void)
{
    if (is_recorder())
        hs_stream__go_on();
}

// A writer's thread that has no filter goes on; threads of the program then only record.
void hs_process__forbid(uint32_t forbidden, bool all_threads)
{
    if (!is_recorder())
        return;
    hs_process__sync();
    uint32_t needed = HS_FORBIDDEN_MEMORY;
    if (all_threads || !hs_slot_source__writer_thread())
        needed |= HS_FORBIDDEN_WRITING;
    if (all_threads)
        needed |= HS_FORBIDDEN_OTHERS;
    if (!(forbidden & needed))
        return;
    hs_process__be_single_threaded();
    hs_output__stop(HS_STOP_FORBIDDEN, 0);
    process.begun = false;
    hs_recording__give_up();
}

void hs_process__code_will_be_unloaded(void)
{
    hs_python__hold();
    if (!is_recorder())
        return;
    hs_stacks__name_code((uint32_t)hs_system_gettid());
    hs_perf__hold_code();
}

void hs_process__code_was_unloaded(void)
{
    hs_python__release();
    if (!is_recorder())
        return;
    hs_stacks__forget_unloaded((uint32_t)hs_system_gettid());
    hs_perf__release_code();
}
