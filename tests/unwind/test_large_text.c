// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Of code without tables in a huge library, only what stacks reach is looked at: the rest stays out of memory. The
// symbols of a file are read once, however many parts of its code are looked at.
#include "support.h"
#include "unwind/symbol_places.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

static large_text_call *open_call(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    large_text_call *call = (large_text_call *)dlsym(library, name);
    ck_assert_ptr_nonnull((void *)call);
    return call;
}

// The largest mapping of the file: the unwinder's, which has all of it. The loader leaves out the symbols.
static char *whole_file(const char *path, size_t *size)
{
    char line[4200], *largest = NULL;
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    *size = 0;
    while (fgets(line, sizeof line, maps)) {
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%lx-%lx r--p 00000000 ", &start, &end) != 2 || !strstr(line, path) || end - start < *size)
            continue;
        *size = end - start;
        largest = (char *)start;
    }
    fclose(maps);
    ck_assert_ptr_nonnull(largest);
    return largest;
}

START_TEST(symbols_are_read_once)
{
    const char *path = MANY_SYMBOLS_LIBRARY;
    size_t size;
    long kilobytes = 0, resident = 0;
    call_library(open_call(path, "call_in_first_half"));
    ck_assert_int_eq(failures, 0);
    char *file = whole_file(path, &size);
    ck_assert_uint_gt(size, 6 << 20);
    ck_assert_int_eq(madvise(file, size, MADV_DONTNEED), 0);
    call_library(open_call(path, "call_at_end"));
    ck_assert_int_eq(failures, 0);
    measure(file, &kilobytes, &resident);
    ck_assert_uint_eq((size_t)kilobytes, size >> 10);
    ck_assert_int_lt(resident, 1 << 10); // of two megabytes of symbols
}
END_TEST

struct seen {
    uintptr_t start;
    size_t size, count;
};

static void count_symbol(const void *context, uintptr_t address)
{
    struct seen *seen = *(struct seen *const *)context;
    seen->count += address - seen->start < seen->size;
}

// Each symbol is where it is, whatever part of the text is asked about.
START_TEST(symbols_are_found)
{
    enum { FUNCTION = 64, FUNCTIONS = 80000, SIZES = 4 };
    static const size_t sizes[SIZES] = {FUNCTION, 40960, 100032, (size_t)FUNCTION * FUNCTIONS};
    uintptr_t last = (uintptr_t)open_call(MANY_SYMBOLS_LIBRARY, "call_at_end"), bias;
    uintptr_t first = last - (uintptr_t)FUNCTION * (FUNCTIONS - 1);
    struct hs_module module;
    ck_assert(hs_module_find(last, &module) && hs_module_bias(&module, &bias));
    for (int i = 0; i < SIZES; i++) {
        size_t step = i ? sizes[i] : 997 * FUNCTION;
        for (uintptr_t at = first; at <= last; at += step) {
            struct seen seen = {at, sizes[i], 0}, *context = &seen;
            hs_symbol_places_each(&module, bias, at, sizes[i], count_symbol, &context);
            size_t left = (last - at) / FUNCTION + 1, whole = sizes[i] / FUNCTION;
            ck_assert_uint_eq(seen.count, left < whole ? left : whole);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large_text");
    TCase *cases = tcase_create("large_text");
    tcase_add_test(cases, only_what_is_reached);
    tcase_add_test(cases, symbols_are_read_once);
    tcase_add_test(cases, symbols_are_found);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
