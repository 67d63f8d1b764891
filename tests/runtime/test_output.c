// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file under bad conditions: no space, limits, lost descriptors, names that are taken. The process goes on, the
// file stays readable, and every event is in it or counted as dropped.
#include "trace_reader.h"

#include "runtime/clock.h"
#include "runtime/enter.h"
#include "runtime/output.h"
#include "runtime/record.h"
#include "runtime/stream/link.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/heapsonde-output-XXXXXX";
static char path[64];
static bool mounted;

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    setenv("HEAPSONDE_WRITER", "inline", 1);
    setenv("HEAPSONDE_OUTPUT", path, 1);
}

static void teardown(void)
{
    char command[128];
    if (mounted)
        umount2(folder, MNT_DETACH);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void record(unsigned events)
{
    for (unsigned i = 0; i < events; i++) {
        struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
        if (!thread)
            return;
        struct hs_registers caller;
        HS_CAPTURE_CALLER(&caller);
        hs_record__allocation(thread, &caller, HS_RECORD_MALLOC, 0x1000 + (uint64_t)i * 16, i, i + 1000);
        hs_record__leave(thread);
    }
}

static void start(void)
{
    ck_assert_uint_eq(hs_process__wake(), HS_MODE_ALLOC | HS_MODE_FREE);
}

static void expect_no_trace_but_life(void)
{
    ck_assert_uint_eq(hs_process__wake(), 0);
    ck_assert_ptr_null(hs_record__enter(HS_MODE_ALLOC));
    hs_process__set_recording(true);
    hs_process__sync();
    hs_process__exit();
    ck_assert_uint_eq(hs_process__wake(), 0);
}

static struct trace expect_readable(const char *where)
{
    struct trace trace;
    ck_assert(trace_read(where, &trace));
    ck_assert_uint_eq(trace.damaged, 0);
    for (size_t i = 0; i < trace.count; i++) {
        const struct hs_event *event = &trace.events[i];
        if (event->address != 0x1000 + event->size * 16 || event->usable != event->size + 1000)
            ck_abort_msg("event %zu makes no sense", i);
    }
    return trace;
}

static void expect_whole(const char *where, unsigned events)
{
    struct trace trace = expect_readable(where);
    ck_assert_uint_eq(trace.count, events);
    ck_assert_uint_eq(trace.header.live.state, HS_STATE_CLOSED);
    ck_assert_uint_eq(trace.header.live.events, events);
    trace_free(&trace);
}

static void expect_stopped(uint64_t reason, int error, unsigned recorded)
{
    struct trace trace = expect_readable(path);
    const struct hs_live *live = &trace.header.live;
    ck_assert_uint_eq(live->state, HS_STATE_STOPPED);
    ck_assert_uint_eq(live->stop_reason, reason);
    ck_assert_uint_eq(live->stop_errno, (uint64_t)error);
    uint64_t dropped = 0;
    for (int i = 0; i < HS_DROP_COUNT; i++)
        dropped += i == HS_DROP_STACK_TABLE ? 0 : live->dropped[i];
    ck_assert_msg(trace.count < recorded, "nothing was lost");
    if (hs_process__wake()) // else the hooks do not even count any more
        ck_assert_uint_eq(trace.count + dropped, recorded);
    else
        ck_assert_uint_gt(trace.count + dropped, 0);
    trace_free(&trace);
}

// Check writes a file when it asserts, so nothing is asserted under a limit.
static void limit(int resource, rlim_t most)
{
    struct rlimit both = {.rlim_cur = most, .rlim_max = RLIM_INFINITY};
    if (setrlimit(resource, &both) != 0)
        abort();
}

// ---- names ---------------------------------------------------------------------------------------------------------

START_TEST(ordinary_trace_is_private_and_whole)
{
    umask(0);
    start();
    record(20000);
    hs_process__exit();
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    expect_whole(path, 20000);
}
END_TEST

// Slots that nothing was recorded into are not in it. What comes after all is.
START_TEST(trace_of_nothing_is_small)
{
    if (_i)
        unsetenv("HEAPSONDE_WRITER");
    start();
    hs_process__exit();
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_le(status.st_size, 8192);
    struct trace trace = expect_readable(path);
    ck_assert_uint_eq(trace.count, 0);
    ck_assert_uint_gt(trace.infos, 0);
    ck_assert_uint_eq(trace.header.live.state, HS_STATE_CLOSED);
    trace_free(&trace);
    record(20000);
    hs_process__sync();
    trace = expect_readable(path);
    ck_assert_uint_eq(trace.count, 20000);
    trace_free(&trace);
}
END_TEST

START_TEST(names_that_cannot_be)
{
    static const char *const names[] = {"/dev/null", "/dev/null/x", "/nowhere/at/all", "/tmp", "/dev/full"};
    setenv("HEAPSONDE_OUTPUT", names[_i], 1);
    expect_no_trace_but_life();
}
END_TEST

START_TEST(pipe_is_no_trace)
{
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_no_trace_but_life();
}
END_TEST

// Percent signs that are not counters must not be taken for one: the name would never become free.
START_TEST(taken_name_with_escaped_percent)
{
    char pattern[80];
    snprintf(pattern, sizeof pattern, "%s/a%%%%n", folder);
    setenv("HEAPSONDE_OUTPUT", pattern, 1);
    snprintf(path, sizeof path, "%s/a%%n", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    start();
    record(10);
    hs_process__exit();
    expect_whole(path, 10);
}
END_TEST

START_TEST(counter_goes_on_to_a_free_name)
{
    char pattern[80];
    snprintf(pattern, sizeof pattern, "%s/%%n.dat", folder);
    setenv("HEAPSONDE_OUTPUT", pattern, 1);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%d.dat", folder, i);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    start();
    record(10);
    hs_process__exit();
    snprintf(path, sizeof path, "%s/3.dat", folder);
    expect_whole(path, 10);
}
END_TEST

START_TEST(old_trace_is_replaced_and_its_reader_keeps_it)
{
    int old = open(path, O_CREAT | O_RDWR, 0644);
    ck_assert_int_eq(write(old, "old", 3), 3);
    start();
    record(10);
    hs_process__exit();
    expect_whole(path, 10);
    char text[4] = "";
    ck_assert_int_eq(pread(old, text, 4, 0), 3);
    ck_assert_str_eq(text, "old");
    close(old);
}
END_TEST

// Processes that record under one name at the same time. Each writes a byte when it has begun and ends when it reads
// one.
enum { RIVALS = 8 };
struct rival {
    pid_t pid;
    int begun, end;
};

static struct rival start_rival(unsigned events, int go)
{
    int begun[2], end[2];
    char byte = 0;
    ck_assert(pipe(begun) == 0 && pipe(end) == 0);
    struct rival rival = {fork(), begun[0], end[1]};
    if (rival.pid == 0) {
        close(end[1]);
        if (go >= 0 && read(go, &byte, 1) != 1)
            _exit(1);
        start();
        record(events);
        if (write(begun[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 1)
            _exit(1);
        hs_process__exit();
        _exit(0);
    }
    close(begun[1]);
    close(end[0]);
    return rival;
}

static void wait_for_rival(const struct rival *rival)
{
    char byte;
    ck_assert_int_eq(read(rival->begun, &byte, 1), 1);
}

static void end_rival(const struct rival *rival)
{
    int status;
    ck_assert_int_eq(write(rival->end, "", 1), 1);
    ck_assert_int_eq(waitpid(rival->pid, &status, 0), rival->pid);
    ck_assert_int_eq(status, 0);
    close(rival->begun);
    close(rival->end);
}

// _i: with a symbolic link for a name.
START_TEST(trace_in_progress_keeps_its_name)
{
    char target[96], ours[96];
    snprintf(target, sizeof target, "%s.target", path);
    if (_i)
        ck_assert_int_eq(symlink(target, path), 0);
    struct rival rival = start_rival(20000, -1);
    wait_for_rival(&rival);
    start();
    record(10);
    hs_process__exit();
    end_rival(&rival);
    expect_whole(path, 20000);
    snprintf(ours, sizeof ours, "%s.%d", path, (int)getpid());
    expect_whole(ours, 10);
}
END_TEST

// Over nothing, and over an old trace that each of them would replace.
START_TEST(of_many_at_once_each_has_its_trace)
{
    struct rival rivals[RIVALS];
    unsigned found = 0;
    int go[2];
    if (_i)
        close(open(path, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(pipe(go), 0);
    for (unsigned i = 0; i < RIVALS; i++)
        rivals[i] = start_rival(i + 1, go[0]);
    for (unsigned i = 0; i < RIVALS; i++)
        ck_assert_int_eq(write(go[1], "", 1), 1);
    for (unsigned i = 0; i < RIVALS; i++)
        wait_for_rival(&rivals[i]);
    for (unsigned i = 0; i < RIVALS; i++)
        end_rival(&rivals[i]);
    for (unsigned i = 0; i < RIVALS; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s.%d", path, (int)rivals[i].pid);
        bool apart = access(name, F_OK) == 0;
        expect_whole(apart ? name : path, i + 1);
        found += !apart;
    }
    ck_assert_uint_eq(found, 1);
}
END_TEST

// In another namespace another process has the same number, and has taken the name that is made of it.
START_TEST(names_are_tried_until_one_is_free)
{
    char name[96];
    int held[3];
    for (int i = 0; i < 3; i++) {
        const char *const ends[] = {"", ".%d", ".%d.1"};
        char end[32];
        snprintf(end, sizeof end, ends[i], (int)getpid());
        snprintf(name, sizeof name, "%s%s", path, end);
        held[i] = open(name, O_CREAT | O_RDWR, 0600);
        ck_assert_int_eq(flock(held[i], LOCK_EX), 0);
    }
    start();
    record(10);
    hs_process__exit();
    snprintf(name, sizeof name, "%s.%d.2", path, (int)getpid());
    expect_whole(name, 10);
    for (int i = 0; i < 3; i++)
        close(held[i]);
}
END_TEST

// Where it cannot be removed, a file that all may write may be open elsewhere.
START_TEST(file_that_all_may_write_is_no_trace)
{
    char name[96];
    mounted = mount(folder, folder, NULL, MS_BIND, NULL) == 0;
    int old = open(path, O_CREAT | O_RDWR, 0600);
    ck_assert_int_eq(fchmod(old, 0666), 0);
    bool held = mounted && mount(path, path, NULL, MS_BIND, NULL) == 0; // which keeps its name
    start();
    record(10);
    hs_process__exit();
    if (held)
        umount2(path, MNT_DETACH);
    snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
    expect_whole(held ? name : path, 10);
    close(old);
}
END_TEST

// ---- space ---------------------------------------------------------------------------------------------------------

START_TEST(file_limit_stops_the_recording)
{
    signal(SIGXFSZ, SIG_DFL);
    start();
    record(3000);
    limit(RLIMIT_FSIZE, 400000 + (rlim_t)_i * 1000);
    record(200000);
    hs_process__before_exec();
    hs_process__after_failed_exec();
    hs_process__exit();
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
    expect_stopped(HS_STOP_FILE_LIMIT, EFBIG, 203000);
}
END_TEST

START_TEST(no_room_from_the_start)
{
    signal(SIGXFSZ, SIG_DFL);
    limit(RLIMIT_FSIZE, (rlim_t)_i * 4096);
    hs_process__wake();
    record(20000);
    hs_process__exit();
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
    struct trace trace;
    if (trace_read(path, &trace))
        trace_free(&trace);
}
END_TEST

START_TEST(full_disk_stops_the_recording)
{
    mounted = mount("none", folder, "tmpfs", 0, _i ? "size=1m" : "size=300k") == 0;
    if (!mounted) {
        printf("not tested: a file system cannot be mounted here\n");
        return;
    }
    start();
    record(300000);
    hs_process__exit();
    expect_stopped(HS_STOP_DISK_FULL, ENOSPC, 300000);
    umount2(folder, MNT_DETACH);
}
END_TEST

START_TEST(no_memory_from_the_start)
{
    static const unsigned most_pages[] = {0, 16, 80, 200, 1000};
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages;
    ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    limit(RLIMIT_AS, (pages + most_pages[_i]) * 4096);
    hs_process__wake();
    record(30000);
    hs_process__exit();
    limit(RLIMIT_AS, RLIM_INFINITY);
}
END_TEST

// ---- descriptors ---------------------------------------------------------------------------------------------------

START_TEST(closed_descriptor_is_opened_again)
{
    start();
    for (int round = 0; round < 10; round++) {
        record(5000);
        close(hs_output__descriptor());
    }
    hs_process__exit();
    struct trace trace = expect_readable(path);
    ck_assert_uint_eq(trace.count, 50000);
    trace_free(&trace);
}
END_TEST

START_TEST(foreign_file_under_our_number_is_left_alone)
{
    char other[64];
    snprintf(other, sizeof other, "%s/other", folder);
    start();
    record(5000);
    int foreign = open(other, O_CREAT | O_RDWR, 0600), ours = hs_output__descriptor();
    ck_assert_int_eq(dup2(foreign, ours), ours);
    record(45000);
    hs_process__exit();
    struct stat status;
    ck_assert_int_eq(fstat(ours, &status), 0); // still open, still empty
    ck_assert_int_eq(status.st_size, 0);
    struct trace trace = expect_readable(path);
    ck_assert_uint_eq(trace.count, 50000);
    trace_free(&trace);
}
END_TEST

// ---- ends ----------------------------------------------------------------------------------------------------------

START_TEST(killed_process_loses_nothing)
{
    pid_t child = fork();
    if (child == 0) {
        start();
        record(12345);
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    struct trace trace = expect_readable(path);
    ck_assert_uint_eq(trace.count, 12345);
    ck_assert_uint_gt(trace.sealed, 0);
    ck_assert_uint_lt(trace.sealed, trace.count);
    ck_assert_uint_eq(trace.header.live.state, HS_STATE_RECORDING);
    trace_free(&trace);
}
END_TEST

START_TEST(forked_child_knows_no_key)
{
    static const char key[] = "0123456789abcdef0123456789abcdef";
    char file[80];
    snprintf(file, sizeof file, "%s/key", folder);
    int fd = open(file, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_eq(write(fd, key, sizeof key - 1), sizeof key - 1);
    close(fd);
    setenv("HEAPSONDE_KEY_FILE", file, 1);
    setenv("HEAPSONDE_CONNECT", "127.0.0.1:9", 1);
    start();
    ck_assert_mem_eq(hs_link_security.key, key, sizeof key - 1);
    pid_t child = fork();
    if (child == 0) {
        struct hs_link_security none = {0};
        hs_process__after_fork();
        _exit(memcmp(&hs_link_security, &none, sizeof none) != 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    hs_process__exit();
}
END_TEST

START_TEST(forked_child_has_a_trace_of_its_own)
{
    start();
    record(3000);
    pid_t child = fork();
    if (child == 0) {
        hs_process__after_fork();
        record(40000);
        hs_process__exit();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    hs_process__exit();
    expect_whole(path, 3000);
    char name[96];
    snprintf(name, sizeof name, "%s.%d", path, child);
    expect_whole(name, 40000);
}
END_TEST

enum { THREADS = 5, EVENTS_EACH = 15000 };

static void *record_in_thread(void *unused)
{
    record(EVENTS_EACH);
    return unused;
}

START_TEST(threads_record_at_once)
{
    start();
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, record_in_thread, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
    hs_process__exit();
    struct trace trace = expect_readable(path);
    size_t of_stream[THREADS + 1] = {0};
    for (size_t i = 0; i < trace.count; i++)
        of_stream[trace.streams[i] <= THREADS ? trace.streams[i] : 0]++;
    for (int t = 1; t <= THREADS; t++)
        ck_assert_uint_eq(of_stream[t], EVENTS_EACH);
    ck_assert_uint_eq(of_stream[0], 0);
    trace_free(&trace);
}
END_TEST

// A thread that is in a hook when the recording ends.
static pthread_barrier_t full, ended;
static unsigned recorded;

static void *record_at_the_end(void *unused)
{
    do
        record(1);
    while (++recorded && hs_thread_self->at < hs_thread_self->limit);
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&ended);
    hs_record__allocation(thread, &caller, HS_RECORD_MALLOC, 0x1000, 0, 1000);
    hs_record__leave(thread);
    return unused;
}

// What it recorded before stays in the trace. What is later, with or without a place for it, is not counted as lost.
START_TEST(thread_outlives_the_recording)
{
    pthread_t thread;
    start();
    ck_assert_int_eq(pthread_barrier_init(&full, NULL, 2) | pthread_barrier_init(&ended, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, record_at_the_end, NULL), 0);
    pthread_barrier_wait(&full);
    hs_process__detach();
    while (_i && hs_slots__take(HS_SLOT_EVENTS, THREADS, 0))
        continue;
    pthread_barrier_wait(&ended);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    struct trace trace = expect_readable(path);
    ck_assert_uint_eq(trace.header.live.state, HS_STATE_CLOSED);
    ck_assert_uint_eq(trace.count, recorded);
    for (int i = 0; i < HS_DROP_COUNT; i++)
        ck_assert_uint_eq(trace.header.live.dropped[i], 0);
    trace_free(&trace);
}
END_TEST

enum { HELD = 1000, MORE = 20000 };

static void *record_in_plain_memory(void *unused)
{
    record(HELD);
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&ended);
    record(MORE);
    pthread_barrier_wait(&ended);
    return unused;
}

static void expect_held(unsigned times, unsigned most)
{
    struct trace trace = expect_readable(path);
    unsigned first = 0;
    for (size_t i = 0; i < trace.count; i++)
        first += trace.events[i].size == 0;
    ck_assert_uint_eq(trace.header.live.state, HS_STATE_CLOSED);
    ck_assert_uint_eq(first, times);
    ck_assert_uint_ge(trace.count, HELD);
    ck_assert_uint_le(trace.count, most);
    trace_free(&trace);
}

// Nothing is lost that a thread holds in a slot outside the file when the recording ends, and nothing is there twice if
// it goes on afterwards.
START_TEST(slots_outside_the_file_are_kept)
{
    pthread_t thread;
    start();
    while (hs_slots__take(HS_SLOT_EVENTS, THREADS, 0))
        continue;
    ck_assert(hs_output__add_plain_slots(4));
    ck_assert_int_eq(pthread_barrier_init(&full, NULL, 2) | pthread_barrier_init(&ended, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, record_in_plain_memory, NULL), 0);
    pthread_barrier_wait(&full);
    if (_i)
        hs_process__detach();
    else
        hs_process__exit();
    expect_held(1, HELD);
    pthread_barrier_wait(&ended);
    pthread_barrier_wait(&ended);
    if (_i)
        expect_held(1, HELD);
    else
        expect_held(2, HELD + MORE);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(failed_exec_takes_its_mark_back)
{
    start();
    hs_process__before_exec();
    ck_assert_uint_eq(hs_output__live()->state, HS_STATE_EXEC);
    hs_process__after_failed_exec();
    ck_assert_uint_eq(hs_output__live()->state, HS_STATE_RECORDING);
    hs_process__exit();
    hs_process__before_exec();
    ck_assert_uint_eq(hs_output__live()->state, HS_STATE_CLOSED);
}
END_TEST

// Events and stacks, from the first one on.
START_TEST(killed_forked_child_loses_nothing)
{
    start();
    pid_t child = fork();
    if (child == 0) {
        hs_process__after_fork();
        record(_i ? 12345 : 10);
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    char name[96];
    snprintf(name, sizeof name, "%s.%d", path, child);
    struct trace trace = expect_readable(name);
    ck_assert_uint_eq(trace.count, _i ? 12345 : 10);
    for (size_t i = 0; i < trace.count; i++)
        ck_assert_uint_ne(trace.nodes[trace.events[i].stack].pc, 0);
    trace_free(&trace);
}
END_TEST

START_TEST(idle_forked_child_leaves_no_file)
{
    start();
    pid_t child = fork();
    if (child == 0) {
        hs_process__after_fork();
        hs_process__exit();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    char name[96];
    snprintf(name, sizeof name, "%s.%d", path, child);
    ck_assert_int_ne(access(name, F_OK), 0);
}
END_TEST

START_TEST(relative_name_counts_from_where_the_process_began)
{
    ck_assert_int_eq(chdir(folder), 0);
    setenv("HEAPSONDE_OUTPUT", "trace", 1);
    start();
    ck_assert_int_eq(chdir("/"), 0);
    record(20000);
    close(hs_output__descriptor());
    record(20000);
    pid_t child = fork();
    if (child == 0) {
        hs_process__after_fork();
        record(10);
        hs_process__exit();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    hs_process__exit();
    expect_whole(path, 40000);
    char name[96];
    snprintf(name, sizeof name, "%s.%d", path, child);
    expect_whole(name, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, ordinary_trace_is_private_and_whole);
    tcase_add_loop_test(files, trace_of_nothing_is_small, 0, 2);
    tcase_add_loop_test(files, names_that_cannot_be, 0, 5);
    tcase_add_test(files, pipe_is_no_trace);
    tcase_add_test(files, taken_name_with_escaped_percent);
    tcase_add_test(files, counter_goes_on_to_a_free_name);
    tcase_add_test(files, old_trace_is_replaced_and_its_reader_keeps_it);
    tcase_add_loop_test(files, trace_in_progress_keeps_its_name, 0, 2);
    tcase_add_loop_test(files, of_many_at_once_each_has_its_trace, 0, 2);
    tcase_add_test(files, names_are_tried_until_one_is_free);
    tcase_add_test(files, file_that_all_may_write_is_no_trace);
    tcase_add_loop_test(files, file_limit_stops_the_recording, 0, 8);
    tcase_add_loop_test(files, no_room_from_the_start, 0, 12);
    tcase_add_loop_test(files, full_disk_stops_the_recording, 0, 2);
    tcase_add_loop_test(files, no_memory_from_the_start, 0, 5);
    tcase_add_test(files, closed_descriptor_is_opened_again);
    tcase_add_test(files, foreign_file_under_our_number_is_left_alone);
    tcase_add_test(files, killed_process_loses_nothing);
    tcase_add_test(files, forked_child_knows_no_key);
    tcase_add_test(files, forked_child_has_a_trace_of_its_own);
    tcase_add_test(files, threads_record_at_once);
    tcase_add_loop_test(files, thread_outlives_the_recording, 0, 2);
    tcase_add_loop_test(files, slots_outside_the_file_are_kept, 0, 2);
    tcase_add_test(files, failed_exec_takes_its_mark_back);
    tcase_add_loop_test(files, killed_forked_child_loses_nothing, 0, 2);
    tcase_add_test(files, idle_forked_child_leaves_no_file);
    tcase_add_test(files, relative_name_counts_from_where_the_process_began);
    suite_add_tcase(suite, files);
    return run_suite(suite);
}
