// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Samples in a library of which the program has unmapped a part. The suite itself neither runs nor reads the library
// from then on.
#include "unwind/module.h"
#include "unwind/resolve.h"
#include "unwind/snapshot.h"

#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAPACITY = 64, WORDS = 512, INSTRUCTIONS = 64 };

static const char *const libraries[] = {TORN_LIBRARY_TABLES, TORN_LIBRARY_BARE};

static struct hs_memo *memo;
static uintptr_t page_size, second, stack[WORDS];

// QEMU's user mode keeps the address space of machines of 32 bits for itself.
static bool kernel_tells(void)
{
    char *page = mmap(NULL, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    ck_assert_int_eq(munmap(page, page_size), 0);
    return msync(page, page_size, MS_ASYNC) == -1 && errno == ENOMEM;
}

static void *load(const char *path)
{
    memo = hs_memo_create(calloc(1, hs_memo_size(CAPACITY)), CAPACITY);
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *library = dlopen(path, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    second = (uintptr_t)dlsym(library, "torn_second");
    for (size_t i = 0; i < WORDS; i++)
        stack[i] = second + 16;
    return library;
}

static void walk(uintptr_t pc)
{
    struct hs_snapshot snapshot = {.copy = (const uint8_t *)stack, .size = sizeof stack};
    uintptr_t *values = snapshot.registers.values;
    values[HS_DWARF_RA] = stack[0];
    values[HS_DWARF_PC] = pc;
    values[HS_DWARF_SP] = (uintptr_t)stack;
    values[HS_DWARF_FP] = (uintptr_t)&stack[WORDS / 2];
    hs_memo_take_snapshot(memo, &snapshot);
}

// The first byte of a part that is unmapped with its page; 0: there is none.
static uintptr_t part_of(void *library, int number)
{
    struct hs_module module;
    ck_assert(hs_module_find(second, &module));
    ck_assert(!module.anonymous);
    switch (number) {
    case 0:
        return module.start;
    case 1:
        return (uintptr_t)module.eh_frame_hdr;
    case 2:
        return (uintptr_t)dlsym(library, "torn_first");
    case 3:
        return second;
    default:
        return (uintptr_t)dlsym(library, "torn_data");
    }
}

enum { PARTS = 5, WAYS = 2, LIBRARIES = 2 };

static void tear(uintptr_t part)
{
    ck_assert_int_eq(syscall(SYS_munmap, part & ~(page_size - 1), page_size), 0);
    hs_module_look_again();
}

START_TEST(what_is_left_is_code_of_no_file)
{
    struct hs_module module;
    void *library = load(libraries[_i / PARTS / WAYS]);
    hs_module_ignore_loader(_i / PARTS % WAYS);
    uintptr_t part = part_of(library, _i % PARTS);
    hs_module_look(page_size);
    for (uintptr_t pc = second; pc < second + INSTRUCTIONS / 2; pc++)
        walk(pc);
    ck_assert(hs_module_find(second, &module) && !module.anonymous);
    if (!part || !kernel_tells())
        return;
    tear(part);
    for (uintptr_t pc = second; pc < second + INSTRUCTIONS; pc++) {
        walk(pc);
        ck_assert_int_ne(memo->end, HS_END_ROOT);
        ck_assert(!hs_module_find(pc, &module) || module.anonymous);
        hs_rule_resolve(pc, false);
        hs_rule_resolve(pc, true);
    }
}
END_TEST

static void *find_second(void *found)
{
    struct hs_module module;
    *(bool *)found = hs_module_find(second, &module) && !module.anonymous;
    return NULL;
}

static bool found_by_another_thread(void)
{
    bool found;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, find_second, &found), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return found;
}

START_TEST(other_threads_go_by_what_was_found)
{
    struct hs_module module;
    load(libraries[0]);
    hs_module_look(page_size);
    ck_assert(found_by_another_thread());
    if (!kernel_tells())
        return;
    tear(second);
    ck_assert(!hs_module_find(second, &module) || module.anonymous);
    ck_assert(!found_by_another_thread());
    hs_module_look_again();
    ck_assert(!found_by_another_thread());
}
END_TEST

START_TEST(other_modules_stay)
{
    struct hs_module module;
    load(libraries[0]);
    hs_module_look(page_size);
    tear(second);
    ck_assert(hs_module_find((uintptr_t)walk, &module));
    ck_assert(!module.anonymous);
    ck_assert(hs_module_find((uintptr_t)dlsym(RTLD_DEFAULT, "malloc"), &module));
    ck_assert(!module.anonymous);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torn");
    TCase *cases = tcase_create("torn");
    tcase_add_loop_test(cases, what_is_left_is_code_of_no_file, 0, LIBRARIES * WAYS * PARTS);
    tcase_add_test(cases, other_threads_go_by_what_was_found);
    tcase_add_test(cases, other_modules_stay);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
