// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Every instruction of real functions as the point where a walk starts: the walk leads through a signal frame and a
// frame that was interrupted anywhere.
#define _GNU_SOURCE
#include "stepper.h"
#include "support.h"

#include "unwind/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void throw_and_catch(void *rounds);
int stepping_library_first(int value);
int stepping_library_second(double a, double b, double c, double d, int value);

static struct stepper_result result;

static void run(void (*function)(void *), void *argument, bool alternate, uint64_t least_steps)
{
    stepper_run(function, argument, alternate, &result);
    if (result.differences)
        stepper_print(&result);
    ck_assert_uint_ge(result.steps, least_steps);
    ck_assert_uint_eq(result.differences, 0);
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sort(void *unused)
{
    int values[64];
    (void)unused;
    for (int i = 0; i < 64; i++)
        values[i] = i * 37 % 64;
    qsort(values, 64, sizeof *values, compare_ints);
}

static void print(void *unused)
{
    char text[400];
    (void)unused;
    snprintf(text, sizeof text, "%d %s %.12g %p %-20lx|%c %ls", 42, "text", 3.14159265358979, (void *)text, 99ul, 'x',
             L"wide");
    strtod(text + 8, NULL);
}

START_TEST(sorting_and_printing)
{
    run(sort, NULL, _i, 5000);
    run(print, NULL, _i, 3000);
}
END_TEST

static void call_lazily(void *unused)
{
    (void)unused;
    volatile int value = stepping_library_first(3);
    value += stepping_library_second(1.5, 2.5, 3.5, 4.5, value);
}

// The first calls of functions in libraries go through PLT stubs and _dl_runtime_resolve, whose frame hangs on rbx.
START_TEST(lazy_binding)
{
    run(call_lazily, NULL, _i, 1500);
}
END_TEST

static void read_clocks(void *unused)
{
    struct timespec now;
    (void)unused;
    for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_BOOTTIME; clock++)
        clock_gettime(clock, &now);
    time(NULL);
}

START_TEST(vdso)
{
    run(read_clocks, NULL, _i, 100);
    ck_assert_uint_gt(result.vdso_steps, 50);
}
END_TEST

static void allocate(void *unused)
{
    void *blocks[40];
    (void)unused;
    for (size_t i = 0; i < 40; i++)
        blocks[i] = malloc(i * i * 100);
    for (size_t i = 0; i < 40; i += 2)
        blocks[i] = realloc(blocks[i], i * 50 + 1);
    for (size_t i = 0; i < 40; i++)
        free(blocks[i]);
}

START_TEST(allocating)
{
    run(allocate, NULL, _i, 3000);
}
END_TEST

static void walk_inside(void *found)
{
    void *pcs[64];
    int depth[3];
    for (int i = 0; i < 3; i++)
        depth[i] = hs_backtrace(pcs, 64);
    *(bool *)found = depth[0] > 3 && depth[0] == depth[1] && depth[1] == depth[2];
}

// A signal at every instruction of a walk, with a walk in its handler.
START_TEST(walk_inside_of_a_walk)
{
    bool same = false;
    run(walk_inside, &same, _i, 300);
    ck_assert(same);
    same = false;
    hs_unwind_forget_rules();
    run(walk_inside, &same, _i, 300);
    ck_assert(same);
}
END_TEST

static void without_loader(void *unused)
{
    print(unused);
    read_clocks(unused);
    sort(unused);
}

// As under musl and old glibc: modules are found through /proc/self/maps.
START_TEST(without_dl_find_object)
{
    hs_module_ignore_loader(true);
    hs_unwind_forget_rules();
    run(without_loader, NULL, _i, 5000);
    hs_module_ignore_loader(false);
}
END_TEST

static bool in_libgcc(uintptr_t pc)
{
    Dl_info where = {0};
    return dladdr((void *)pc, &where) && where.dli_fname && strstr(where.dli_fname, "libgcc_s");
}

// While libgcc enters a handler it overwrites the saved registers and the return address of its own frame, one by one:
// for those instructions (uw_install_context_1 and the end of its callers) no unwinder can tell the truth, and none of
// them allocates. Everywhere else the stack must be right.
START_TEST(exceptions)
{
    int rounds = 1;
    stepper_run(throw_and_catch, &rounds, _i, &result);
    ck_assert_uint_ge(result.steps, 50000);
    ck_assert_uint_le(result.differences, STEPPER_EXAMPLES);
    for (uint64_t i = 0; i < result.differences; i++)
        ck_assert_msg(in_libgcc(result.examples[i].pc), "difference at %#lx", result.examples[i].pc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stepping");
    TCase *cases = tcase_create("every instruction");
    tcase_add_loop_test(cases, sorting_and_printing, 0, 2);
    tcase_add_loop_test(cases, lazy_binding, 0, 2);
    tcase_add_loop_test(cases, vdso, 0, 2);
    tcase_add_loop_test(cases, allocating, 0, 2);
    tcase_add_loop_test(cases, walk_inside_of_a_walk, 0, 2);
    tcase_add_loop_test(cases, without_dl_find_object, 0, 2);
    tcase_add_loop_test(cases, exceptions, 0, 2);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
