// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/torn_pages.h"
#include "tests/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 3 };

static long page;

static volatile char *map_cut_file(void)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    page = sysconf(_SC_PAGESIZE);
    for (long i = 0; i < PAGES * page; i++)
        putc('x', file);
    fflush(file);
    volatile char *bytes = mmap(NULL, (size_t)(PAGES * page), PROT_READ, MAP_SHARED, fileno(file), 0);
    ck_assert_ptr_ne((void *)(uintptr_t)bytes, MAP_FAILED);
    ck_assert_int_eq(ftruncate(fileno(file), page), 0);
    return bytes;
}

START_TEST(what_was_cut_off_reads_as_zeros)
{
    volatile char *bytes = map_cut_file();
    hs_torn_pages__mend();
    ck_assert_int_eq(bytes[0], 'x');
    ck_assert(!hs_torn_pages__found());
    ck_assert_int_eq(bytes[page], 0);
    ck_assert_int_eq(bytes[PAGES * page - 1], 0);
    ck_assert(hs_torn_pages__found());
    ck_assert_int_eq(bytes[page - 1], 'x');
}
END_TEST

START_TEST(without_it_the_process_ends)
{
    volatile char *bytes = map_cut_file();
    ck_assert_int_eq(bytes[page], 0);
}
END_TEST

START_TEST(another_reason_ends_the_process)
{
    hs_torn_pages__mend();
    raise(SIGBUS);
    raise(SIGBUS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torn_pages");
    TCase *all = tcase_create("all");
    tcase_add_test(all, what_was_cut_off_reads_as_zeros);
    tcase_add_test_raise_signal(all, without_it_the_process_ends, SIGBUS);
    tcase_add_test_raise_signal(all, another_reason_ends_the_process, SIGBUS);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
