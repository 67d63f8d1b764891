// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Of code without tables in a huge library, only what stacks reach is looked at: the rest stays out of memory.
#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void large_text_call(void (*function)(void));

static int failures;
static void *caller;

// Innermost are the frames here, of the library and of its caller.
static void leaf(void)
{
    void *pcs[FRAMES_MAX];
    struct hs_backtrace_info info;
    int depth = hs_backtrace_reason(pcs, FRAMES_MAX, &info);
    failures += info.guessed || info.end != HS_BACKTRACE_COMPLETE || depth < 4 || pcs[3] != caller;
}

NOINLINE static void call_library(large_text_call *call)
{
    caller = __builtin_return_address(0);
    call(leaf);
    OPAQUE(call);
}

// Kilobytes of the mapping around `address`: all of it, and what is in memory.
static void measure(const void *address, long *size, long *resident)
{
    char line[512];
    bool inside = false;
    unsigned long start, end, wanted = (unsigned long)address;
    FILE *maps = fopen("/proc/self/smaps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = wanted - start < end - start;
        if (inside)
            sscanf(line, "Size: %ld", size), sscanf(line, "Rss: %ld", resident);
    }
    fclose(maps);
}

START_TEST(only_what_is_reached)
{
    void *library = dlopen(LARGE_TEXT_LIBRARY, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    large_text_call *call = (large_text_call *)dlsym(library, "call_in_large_text");
    ck_assert_ptr_nonnull((void *)call);
    call_library(call);
    call_library(call);
    ck_assert_int_eq(failures, 0);
    long size = 0, resident = 0;
    measure((void *)call, &size, &resident);
    ck_assert_int_gt(size, 6 << 10);
    ck_assert_int_lt(resident, size / 2);
    dlclose(library);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large_text");
    TCase *cases = tcase_create("large_text");
    tcase_add_test(cases, only_what_is_reached);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
