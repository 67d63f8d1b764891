// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The system calls that differ between architectures: pairs of registers, layouts, sizes, and the thread without libc.
#include "arch/system.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BEYOND_4_GIB 0x140000000ull

static int file = -1;
static char path[] = "/tmp/heapsonde-system-XXXXXX";

static void setup(void)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    file = mkstemp(path);
    ck_assert_int_ge(file, 0);
}

static void teardown(void)
{
    close(file);
    unlink(path);
}

START_TEST(offsets_have_64_bits)
{
    char read[4] = "";
    struct iovec part = {"xyz", 3};
    struct hs_file_status status = {0};
    ck_assert_int_eq(hs_system_pwrite(file, "abc", 3, BEYOND_4_GIB), 3);
    ck_assert_int_eq(hs_system_pread(file, read, 3, BEYOND_4_GIB), 3);
    ck_assert_str_eq(read, "abc");
    ck_assert_int_eq(hs_system_pwritev(file, &part, 1, BEYOND_4_GIB + 1), 3);
    ck_assert_int_eq(hs_system_pread(file, read, 3, BEYOND_4_GIB), 3);
    ck_assert_str_eq(read, "axy");
    ck_assert_int_eq(hs_system_status(file, &status), 0);
    ck_assert(status.size == BEYOND_4_GIB + 4);
    long failed = hs_system_allocate(file, BEYOND_4_GIB, 65536);
    ck_assert(failed == 0 || failed == -EOPNOTSUPP);
    ck_assert_int_eq(hs_system_status_of(path, 0, &status), 0);
    ck_assert(status.size == BEYOND_4_GIB + (failed ? 4 : 65536));
}
END_TEST

START_TEST(maps_at_an_offset)
{
    const uint64_t place = 0xc0000000ull;
    ck_assert_int_eq(hs_system_pwrite(file, "abc", 4, place), 4);
    long map = hs_system_mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, place);
    ck_assert(!hs_system_failed(map));
    ck_assert_str_eq((const char *)map, "abc");
    ck_assert_int_eq(hs_system_munmap((void *)map, 4096), 0);
    ck_assert_int_eq(hs_system_mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, place + 1), -EINVAL);
}
END_TEST

START_TEST(status_is_what_libc_says)
{
    struct hs_file_status status = {0}, named = {0};
    struct stat expected;
    ck_assert_int_eq(fchmod(file, 0640), 0);
    ck_assert_int_eq(write(file, "12345", 5), 5);
    ck_assert_int_eq(fstat(file, &expected), 0);
    ck_assert_int_eq(hs_system_status(file, &status), 0);
    ck_assert_int_eq(hs_system_status_of(path, 0, &named), 0);
    ck_assert(status.inode == expected.st_ino && named.inode == expected.st_ino);
    ck_assert(status.mode == expected.st_mode && named.mode == expected.st_mode);
    ck_assert(status.size == 5 && named.size == 5 && status.device == named.device);
    ck_assert_int_eq(hs_system_status(-1, &status), -EBADF);
}
END_TEST

START_TEST(clocks_limits_and_futexes)
{
    struct hs_time now;
    struct hs_limit limit;
    struct rlimit expected;
    uint32_t word = 1;
    struct timespec before, after; // time() reads a coarse clock, which is late at the end of a second
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &before), 0);
    ck_assert_int_eq(hs_system_clock(CLOCK_REALTIME, &now), 0);
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &after), 0);
    ck_assert(now.seconds >= before.tv_sec && now.seconds <= after.tv_sec && now.nanoseconds < 1000000000);
    getrlimit(RLIMIT_NOFILE, &expected);
    ck_assert_int_eq(hs_system_limit(RLIMIT_NOFILE, &limit), 0);
    ck_assert(limit.current == expected.rlim_cur);
    ck_assert_int_eq(hs_system_futex(&word, FUTEX_WAIT_PRIVATE, 1, 1000000), -ETIMEDOUT);
    ck_assert_int_eq(hs_system_futex(&word, FUTEX_WAIT_PRIVATE, 2, -1), -EAGAIN);
    ck_assert_int_eq(hs_system_futex(&word, FUTEX_WAKE_PRIVATE, 1, -1), 0);
}
END_TEST

START_TEST(signals_are_blocked_and_restored)
{
    struct hs_signal_set before;
    sigset_t seen;
    hs_system_block_signals(&before);
    sigprocmask(SIG_SETMASK, NULL, &seen);
    ck_assert(sigismember(&seen, SIGUSR1) && sigismember(&seen, SIGRTMIN + 1));
    hs_system_restore_signals(&before);
    sigprocmask(SIG_SETMASK, NULL, &seen);
    ck_assert(!sigismember(&seen, SIGUSR1) && !sigismember(&seen, SIGRTMIN + 1));
}
END_TEST

static _Atomic int told;

static void emit(void *what)
{
    atomic_store(&told, *(int *)what);
    for (;;)
        HS_SYSTEM1(SYS_exit, 0);
}

START_TEST(a_thread_without_libc)
{
    static _Alignas(16) char stack[65536];
    int what = 42;
    unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    ck_assert(hs_arch_clone_thread(flags, stack + sizeof stack, emit, &what) > 0);
    while (!atomic_load(&told))
        HS_SYSTEM0(SYS_sched_yield);
    ck_assert_int_eq(atomic_load(&told), 42);
    ck_assert_int_eq(hs_arch_clone_thread(CLONE_THREAD, stack + sizeof stack, emit, &what), -EINVAL);
    ck_assert(hs_arch_thread_pointer() != 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("system");
    TCase *tests = tcase_create("calls");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, offsets_have_64_bits);
    tcase_add_test(tests, maps_at_an_offset);
    tcase_add_test(tests, status_is_what_libc_says);
    tcase_add_test(tests, clocks_limits_and_futexes);
    tcase_add_test(tests, signals_are_blocked_and_restored);
    tcase_add_test(tests, a_thread_without_libc);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
