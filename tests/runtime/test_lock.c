// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The lock: exclusion, and every way in which a holder can be gone.
#include "patient_futex.h"

#include "runtime/clock.h"
#include "runtime/lock.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hs_lock lock;

// ---- in place of the kernel's --------------------------------------------------------------------------------------

// A process that is stopped all the time: between any two looks at the clock ten seconds pass.
static uint64_t between_looks = 10000000000;

uint64_t hs_clock__monotonic_ns(void)
{
    static _Atomic unsigned looks;
    return between_looks * ++looks;
}

// --------------------------------------------------------------------------------------------------------------------

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid); // musl's gettid gives a vfork child its parent's
}

enum { THREADS = 12, ROUNDS = 20000 };
static unsigned long guarded, refused; // ARMv5 has no atomic additions of 64 bits

static void *add(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (!hs_lock__acquire(&lock, own_tid())) {
            __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
            continue;
        }
        guarded++;
        hs_lock__release(&lock);
    }
    return unused;
}

START_TEST(one_holder_at_a_time)
{
    pthread_t threads[THREADS];
    is_patient = true;
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, add, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
    ck_assert_uint_eq(guarded + refused, (unsigned long)THREADS * ROUNDS);
    ck_assert_uint_eq(refused, 0);
    ck_assert_uint_eq(lock.word, 0);
}
END_TEST

static uint32_t last_holder;

static void *die_with_it(void *unused)
{
    last_holder = own_tid();
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    return unused;
}

START_TEST(dead_holder_loses_it)
{
    is_patient = true; // the kernel knows a joined thread a little longer
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, die_with_it, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_eq(lock.word & ~HS_LOCK_CONTENDED, last_holder);
        ck_assert(hs_lock__acquire(&lock, own_tid()));
        ck_assert_uint_eq(lock.word & ~HS_LOCK_CONTENDED, own_tid());
        hs_lock__release(&lock);
    }
}
END_TEST

START_TEST(waiters_get_a_dead_holders_lock)
{
    pthread_t thread, threads[THREADS];
    is_patient = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, die_with_it, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, add, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
    ck_assert_uint_eq(guarded, (unsigned long)THREADS * ROUNDS);
}
END_TEST

static sigjmp_buf out;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

START_TEST(abandoned_lock_is_taken_over_by_its_owner)
{
    signal(SIGUSR1, jump);
    if (sigsetjmp(out, 1) == 0) {
        ck_assert(hs_lock__acquire(&lock, own_tid()));
        raise(SIGUSR1);
        ck_abort();
    }
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    hs_lock__release(&lock);
    ck_assert_uint_eq(lock.word, 0);
}
END_TEST

static void *try_once(void *result)
{
    *(bool *)result = hs_lock__acquire(&lock, own_tid());
    return NULL;
}

// How long it waits for a living holder is for this test alone.
START_TEST(waiting_for_a_living_holder_ends)
{
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    bool had = true;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, try_once, &had), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(!had);
    hs_lock__release(&lock);
    ck_assert_uint_eq(lock.word, 0);
    ck_assert(hs_lock__acquire(&lock, own_tid()));
}
END_TEST

static pthread_barrier_t barrier;

static void *release_late(void *unused)
{
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    pthread_barrier_wait(&barrier);
    while (!(__atomic_load_n(&lock.word, __ATOMIC_RELAXED) & HS_LOCK_CONTENDED))
        sched_yield();
    hs_lock__release(&lock);
    return unused;
}

START_TEST(the_time_in_which_the_process_is_stopped_is_no_wait)
{
    pthread_t holder;
    is_patient = true;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&holder, NULL, release_late, NULL), 0);
    pthread_barrier_wait(&barrier);
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    ck_assert_int_eq(pthread_join(holder, NULL), 0);
}
END_TEST

static pthread_barrier_t met;

static void *live_on(void *tid)
{
    *(uint32_t *)tid = own_tid();
    pthread_barrier_wait(&met);
    for (;;)
        pause();
    return tid;
}

static uint32_t living_thread(void)
{
    pthread_t thread;
    uint32_t tid;
    pthread_barrier_init(&met, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, live_on, &tid), 0);
    pthread_barrier_wait(&met);
    return tid;
}

static uint32_t one_thread, other_thread;

// Another living thread has it after most of the time that the lock waits for one.
static long next_holder(void)
{
    enum { TIMEOUTS = 60 };
    static unsigned timeouts;
    const uint32_t holders[] = {other_thread, one_thread, other_thread, 0};
    if (++timeouts % TIMEOUTS == 0)
        lock.word = holders[timeouts / TIMEOUTS - 1];
    return -ETIMEDOUT;
}

START_TEST(each_holder_has_its_own_time)
{
    lock.word = one_thread = living_thread();
    other_thread = living_thread();
    end_wait = next_holder;
    ck_assert(hs_lock__acquire(&lock, own_tid()));
}
END_TEST

static int interrupted, released_after;

static long interrupt(void)
{
    if (++interrupted == released_after)
        lock.word = 0;
    return -EINTR;
}

START_TEST(signals_do_not_prolong_waiting)
{
    lock.word = living_thread();
    end_wait = interrupt;
    ck_assert(!hs_lock__acquire(&lock, own_tid()));
    ck_assert_int_eq(interrupted, 100); // two seconds, of 20 ms each
}
END_TEST

START_TEST(signals_do_not_shorten_waiting)
{
    between_looks = 1000000;
    lock.word = living_thread();
    end_wait = interrupt;
    released_after = 1900;
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    ck_assert_int_eq(interrupted, released_after);
}
END_TEST

static long wake(void)
{
    return 0;
}

static long fail_to_wait(void)
{
    return -ENOSYS;
}

START_TEST(parts_of_waiting)
{
    enum { LONGEST = 1000, SHORT = 500 };
    _Atomic uint32_t word = 1;
    ck_assert_int_eq(hs_futex__wait_part(&word, 1, LONGEST), LONGEST);
    end_wait = wake;
    int64_t least = hs_futex__wait_part(&word, 1, LONGEST);
    ck_assert(least > 0 && least < SHORT);
    end_wait = interrupt;
    ck_assert_int_eq(hs_futex__wait_part(&word, 1, LONGEST), LONGEST);
    between_looks = SHORT;
    ck_assert_int_eq(hs_futex__wait_part(&word, 1, LONGEST), SHORT + least);
    end_wait = fail_to_wait;
    ck_assert_int_eq(hs_futex__wait_part(&word, 1, LONGEST), SHORT + least);
    between_looks = 0;
    ck_assert_int_eq(hs_futex__wait_part(&word, 1, LONGEST), least);
}
END_TEST

// The holder is suspended until the child has ended; its lock is not the child's to take.
static __attribute__((noinline)) pid_t vfork_and_try(uint32_t holder)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(hs_thread_is_gone(holder) || hs_lock__acquire(&lock, own_tid()));
    return child;
}

START_TEST(vfork_child_sees_its_parents_threads)
{
    int status = 0;
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    pid_t child = vfork_and_try(own_tid());
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(lock.word & ~HS_LOCK_CONTENDED, own_tid());
    ck_assert(hs_thread_is_gone((uint32_t)child));
}
END_TEST

// ---- numbers of other processes -------------------------------------------------------------------------------------

static int ends[2];

static int wait_until_closed(void *unused)
{
    char byte;
    (void)unused;
    close(ends[1]);
    return (int)read(ends[0], &byte, 1);
}

static bool memory_of_others_can_be_told(void)
{
    long byte = 0;
    struct iovec here = {&byte, 1};
    return syscall(SYS_process_vm_readv, getpid(), &here, 1, &here, 1, 0) == 1; // QEMU's user mode has no such call
}

static void end_child(pid_t child)
{
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, __WALL), child);
}

// It is a copy of this process, so that its memory is the same but for what was written since.
START_TEST(number_that_another_process_has_got)
{
    if (!memory_of_others_can_be_told())
        return;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(wait_until_closed(NULL));
    lock.word = (uint32_t)child;
    ck_assert(hs_thread_is_gone((uint32_t)child));
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    end_child(child);
}
END_TEST

// init and, for an ordinary user, a process whose memory is closed to it.
START_TEST(number_that_a_stranger_has_got)
{
    if (!memory_of_others_can_be_told())
        return;
    lock.word = (uint32_t)getppid();
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    lock.word = 1;
    ck_assert(hs_lock__acquire(&lock, own_tid()));
}
END_TEST

START_TEST(number_that_nobody_has_waited_for)
{
    if (!memory_of_others_can_be_told())
        return;
    siginfo_t info;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    lock.word = (uint32_t)child;
    ck_assert(hs_lock__acquire(&lock, own_tid()));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(process_in_the_same_memory)
{
    static char stack[65536] __attribute__((aligned(16)));
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = clone(wait_until_closed, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    if (child < 0)
        return; // QEMU's user mode cannot
    lock.word = (uint32_t)child;
    ck_assert(!hs_thread_is_gone((uint32_t)child));
    end_wait = interrupt;
    ck_assert(!hs_lock__acquire(&lock, own_tid()));
    end_child(child);
    ck_assert(hs_lock__acquire(&lock, own_tid()));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lock");
    TCase *locks = tcase_create("lock");
    tcase_add_test(locks, one_holder_at_a_time);
    tcase_add_test(locks, dead_holder_loses_it);
    tcase_add_test(locks, waiters_get_a_dead_holders_lock);
    tcase_add_test(locks, abandoned_lock_is_taken_over_by_its_owner);
    tcase_add_test(locks, waiting_for_a_living_holder_ends);
    tcase_add_test(locks, the_time_in_which_the_process_is_stopped_is_no_wait);
    tcase_add_test(locks, each_holder_has_its_own_time);
    tcase_add_test(locks, signals_do_not_prolong_waiting);
    tcase_add_test(locks, signals_do_not_shorten_waiting);
    tcase_add_test(locks, parts_of_waiting);
    tcase_add_test(locks, vfork_child_sees_its_parents_threads);
    tcase_add_test(locks, number_that_another_process_has_got);
    tcase_add_test(locks, number_that_a_stranger_has_got);
    tcase_add_test(locks, number_that_nobody_has_waited_for);
    tcase_add_test(locks, process_in_the_same_memory);
    suite_add_tcase(suite, locks);
    return run_suite(suite);
}
