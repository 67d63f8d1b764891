// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The writer's thread takes no core from the threads that wait for it: it sleeps while there is nothing to seal. It
// adds slots, which stay in the file for good, for threads that find none.
#include "trace_reader.h"

#include "arch/system.h"
#include "runtime/enter.h"
#include "runtime/hidden_thread.h"
#include "runtime/lock.h"
#include "runtime/perf/perf.h"
#include "runtime/record.h"
#include "runtime/slots.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/threads.h"
#include "runtime/writer.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS = 15000, LOOK_APART_US = 20000 }; // on a busy machine it may wait long for a processor
#define LONG_NS 600000000000ll

static char folder[] = "/tmp/heapsonde-writer-XXXXXX";

static void setup(void)
{
    static char path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    setenv("HEAPSONDE_OUTPUT", path, 1);
    ck_assert_uint_eq(hs_process__wake(), HS_MODE_ALLOC | HS_MODE_FREE);
}

static void teardown(void)
{
    char command[128];
    hs_process__exit();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

// It gives up after ten seconds.
static void sync_writer(void)
{
    while (!hs_writer__sync())
        continue;
}

// The first event brings the writer to life.
static void record_one(void)
{
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    ck_assert_ptr_nonnull(thread);
    hs_record__free(thread, NULL, 0x1000);
    hs_record__leave(thread);
}

// Returns the last one.
static struct hs_slot *take_every_slot(void)
{
    struct hs_slot *last = NULL;
    for (struct hs_slot *slot; (slot = hs_slots__take(HS_SLOT_EVENTS, 1, 0));)
        last = slot;
    return last;
}

static void *wait_for_slot(void *unused)
{
    hs_slots__wait(LONG_NS);
    return unused;
}

// How often the thread has given up its core; -1 when it does not sleep.
static long switches_if_asleep(uint32_t tid)
{
    char name[64], line[256], state = 0;
    long voluntary = 0, other = 0;
    snprintf(name, sizeof name, "/proc/self/task/%u/status", tid);
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %ld", &voluntary);
        sscanf(line, "nonvoluntary_ctxt_switches: %ld", &other);
    }
    fclose(file);
    return state == 'S' ? voluntary + other : -1;
}

static bool comes_to_rest(uint32_t tid)
{
    long before = -1;
    for (unsigned i = 0; i < LOOKS; i++) {
        long now = switches_if_asleep(tid);
        if (now >= 0 && now == before)
            return true;
        before = now;
        usleep(LOOK_APART_US);
    }
    return false;
}

START_TEST(sleeps_while_a_thread_waits_and_nothing_is_submitted)
{
    pthread_t waiter;
    record_one();
    ck_assert_uint_ne(hs_slot_source__writer_thread(), 0);
    struct hs_slot *taken = take_every_slot();
    ck_assert_ptr_nonnull(taken);
    ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for_slot, NULL), 0);
    while (!hs_slots__waited_for())
        usleep(1000);
    sync_writer();
    ck_assert_msg(comes_to_rest(hs_slot_source__writer_thread()), "the writer goes round with nothing to do");
    ck_assert(hs_slots__waited_for());
    hs_slots__give_back(taken);
    pthread_join(waiter, NULL);
}
END_TEST

START_TEST(adds_slots_only_where_one_is_missing)
{
    record_one();
    uint32_t total = hs_slots__total();
    take_every_slot();
    sync_writer();
    ck_assert_uint_eq(hs_slots__total(), total);
    do // the writer may have given one back meanwhile
        ck_assert_ptr_nonnull(hs_slot_source__take(HS_SLOT_EVENTS, 1, 0));
    while (hs_slots__total() == total);
}
END_TEST

static void use_two_processors(void)
{
    cpu_set_t mask, two;
    ck_assert_int_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    CPU_ZERO(&two);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&two) < 2; i++)
        if (CPU_ISSET(i, &mask))
            CPU_SET(i, &two);
    ck_assert_int_eq(sched_setaffinity(0, sizeof two, &two), 0);
}

static void setup_sampled(void)
{
    use_two_processors();
    setenv("HEAPSONDE_EVENTS", "heap,cpu", 1);
    setup();
}

static unsigned tasks(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(directory);
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

// Has the kernel's samples taken out until their thread has a stream like a thread of the program.
static void burn_until_sampled(void)
{
    while (tasks() != 2 + hs_perf__threads()) // it is there, or the kernel has refused and it is gone
        usleep(1000);
    while (hs_perf__threads() && hs_threads__count() < 2)
        hs_perf__flush();
}

// The thread that takes samples out has a stream, too, and is none of the program's.
START_TEST(a_lone_sampled_thread_has_no_second_sealer)
{
    record_one();
    burn_until_sampled();
    struct hs_slot *slot = hs_slots__take(HS_SLOT_EVENTS, 1, 0);
    ck_assert_ptr_nonnull(slot);
    take_every_slot();
    hs_slots__submit(slot);
    ck_assert_ptr_nonnull(hs_slot_source__take(HS_SLOT_EVENTS, 1, 0));
    sync_writer();
    ck_assert_uint_eq(tasks(), 2 + hs_perf__threads());
}
END_TEST

// ---- threads that are asked to leave their slots

enum { LEAVERS = 3, RECORDS = 100000 };

static void *record_many(void *unused)
{
    for (unsigned i = 0; i < RECORDS; i++)
        record_one();
    return unused;
}

static void *ask_all(void *ends)
{
    while (!atomic_load((atomic_bool *)ends))
        for (uint32_t i = 0; i < hs_slots__total(); i++)
            hs_threads__part_from(hs_slots__at(i));
    return NULL;
}

// At any moment, by another thread: each event is there once.
START_TEST(slots_are_left_on_request)
{
    pthread_t leavers[LEAVERS], asker;
    atomic_bool ends = false;
    struct trace trace;
    record_one();
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_all, &ends), 0);
    for (unsigned i = 0; i < LEAVERS; i++)
        ck_assert_int_eq(pthread_create(&leavers[i], NULL, record_many, NULL), 0);
    for (unsigned i = 0; i < LEAVERS; i++)
        pthread_join(leavers[i], NULL);
    atomic_store(&ends, true);
    pthread_join(asker, NULL);
    hs_process__exit();
    sync_writer(); // its end may have been ordered and not been waited for
    ck_assert(trace_read(getenv("HEAPSONDE_OUTPUT"), &trace));
    ck_assert_uint_eq(trace.damaged, 0);
    // Where the writer stands still for seconds, events are lost, and counted.
    ck_assert_uint_eq(trace.count + trace.header.live.dropped[HS_DROP_BUFFER], 1 + LEAVERS * RECORDS);
    trace_free(&trace);
}
END_TEST

// ---- a forked child's thread
// ------------------------------------------------------------------------------------------

static unsigned stacks;

static bool count_stack(uintptr_t address)
{
    stacks += address != 0;
    return true;
}

START_TEST(a_forked_child_tells_its_stack_again)
{
    int status;
    record_one();
    hs_threads__take_stacks(count_stack);
    ck_assert_uint_ge(stacks, 1);
    stacks = 0;
    hs_threads__take_stacks(count_stack);
    ck_assert_uint_eq(stacks, 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        hs_threads__reset();
        hs_threads__take_stacks(count_stack);
        _exit(stacks == 1 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

// ---- a process that is stopped
// ---------------------------------------------------------------------------------------

static void rest(unsigned ms)
{
    static _Atomic uint32_t never;
    while (ms-- > 0)
        hs_futex__wait(&never, 0, 1000000);
}

static void stop_the_process(void *unused)
{
    (void)unused;
    rest(10); // the other one waits by then, which has a thousand such waits
    HS_SYSTEM2(SYS_kill, hs_system_getpid(), SIGSTOP);
    rest(10);
}

static void wait_for_it(void)
{
    static struct hs_hidden_thread thread;
    if (hs_hidden_thread__start(&thread, 65536, stop_the_process, NULL, HS_HIDDEN_THREAD))
        _exit(2);
    _exit(hs_hidden_thread__join(&thread, 1000000000) ? 0 : 1);
}

START_TEST(the_time_in_which_it_is_stopped_is_no_wait)
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        wait_for_it();
    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert(WIFSTOPPED(status));
    usleep(1500000);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

static void look_around(void *seen)
{
    const uint8_t *pointer = (const uint8_t *)hs_arch_thread_pointer();
    bool is_zero = true;
    for (size_t i = 1; i < 0x8000; i++)
        is_zero = is_zero && !pointer[-(ptrdiff_t)i];
    atomic_store((_Atomic int *)seen, is_zero ? 1 : 2);
}

// Where libc's record of a thread is, zero.
START_TEST(a_hidden_thread_has_room_below_its_pointer)
{
    static struct hs_hidden_thread thread;
    static _Atomic int seen;
    ck_assert_int_eq(hs_hidden_thread__start(&thread, 65536, look_around, &seen, HS_HIDDEN_THREAD), 0);
    ck_assert_uint_ge(thread.thread_pointer - (uintptr_t)thread.memory, 0x8000);
    while (!hs_hidden_thread__join(&thread, LONG_NS))
        ;
    ck_assert_int_eq(seen, 1);
}
END_TEST

// Where threads cannot be looked for, waiting for one that is not there would take all the time.
START_TEST(no_thread_has_ended)
{
    struct hs_hidden_thread none = {0};
    hs_system_forbidden[1] = HS_FORBIDDEN_NAMES;
    ck_assert(hs_hidden_thread__join(&none, 1));
    hs_system_forbidden[1] = 0;
}
END_TEST

// A program may change its rights where it ends, behind the end of its stream.
START_TEST(what_has_ended_does_not_go_on)
{
    hs_stream.open = true;
    atomic_store(&hs_stream.finishing, 1);
    hs_stream__go_on();
    ck_assert_uint_eq(hs_stream.sender.tid, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer");
    TCase *writer = tcase_create("writer");
    tcase_add_checked_fixture(writer, setup, teardown);
    tcase_add_test(writer, slots_are_left_on_request);
    tcase_add_test(writer, sleeps_while_a_thread_waits_and_nothing_is_submitted);
    tcase_add_test(writer, adds_slots_only_where_one_is_missing);
    tcase_add_test(writer, a_forked_child_tells_its_stack_again);
    suite_add_tcase(suite, writer);
    TCase *sampled = tcase_create("sampled");
    tcase_add_checked_fixture(sampled, setup_sampled, teardown);
    tcase_add_test(sampled, a_lone_sampled_thread_has_no_second_sealer);
    suite_add_tcase(suite, sampled);
    TCase *stopped = tcase_create("stopped");
    tcase_add_test(stopped, the_time_in_which_it_is_stopped_is_no_wait);
    tcase_add_test(stopped, a_hidden_thread_has_room_below_its_pointer);
    tcase_add_test(stopped, no_thread_has_ended);
    tcase_add_test(stopped, what_has_ended_does_not_go_on);
    suite_add_tcase(suite, stopped);
    return run_suite(suite);
}
