// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When a stopped thread is in the way of a patch. The memory is this process's own; nothing can be read behind its end,
// which is the end of a file.
#define _GNU_SOURCE // memfd_create
#include "host/inject/region.h"
#include "tests/suite.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 0x10000, PATCH = 5 }; // as large as the largest pages

static const uint64_t patched = 0x40201230;
static uint8_t *memory; // PAGE bytes
static uint64_t pc, sp;

static int look(pid_t tid, uint64_t *pc_of, uint64_t *sp_of, uint64_t *thread_pointer)
{
    (void)tid;
    *pc_of = pc;
    *sp_of = sp;
    *thread_pointer = 0;
    return 0;
}

static const struct hs_inject_arch arch = {.look = look};
static struct hs_thread_stop thread = {.is_stopped = true};
static struct hs_inject_target target = {.arch = &arch, .threads = &thread, .thread_count = 1};
static struct hs_region region;

static void begin(void)
{
    int file = memfd_create("region", MFD_CLOEXEC);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, PAGE), 0);
    memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    close(file);
    target.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(target.memory, 0);
    region.patch_count = 1;
    region.patches[0] = (struct hs_region_patch){.at = patched, .length = PATCH, .consumed = PATCH + 2};
    pc = 0x1000;
    sp = (uintptr_t)memory;
}

static void end(void)
{
    close(target.memory);
    munmap(memory, 2 * PAGE);
}

START_TEST(test_read_some)
{
    uint8_t bytes[64] = {0}, before[64];
    memset(memory, 7, PAGE);
    memset(before, 7, sizeof before);
    for (size_t left = 0; left <= sizeof bytes; left++) {
        ck_assert_uint_eq(hs_inject_target__read_some(&target, (uintptr_t)memory + PAGE - left, bytes, sizeof bytes),
                          left);
        ck_assert_int_eq(memcmp(bytes, before, left), 0);
    }
    ck_assert_int_ne(hs_inject_target__read(&target, (uintptr_t)memory + PAGE - 63, bytes, sizeof bytes), 0);
    ck_assert_uint_eq(hs_inject_target__read_some(&target, (uintptr_t)memory, bytes, sizeof bytes), sizeof bytes);
}
END_TEST

START_TEST(test_instruction)
{
    for (pc = patched - 2; pc < patched + PATCH + 4; pc++)
        ck_assert_int_eq(hs_region__check(&region, &target) == HS_REGION_BUSY,
                         pc > patched && pc < patched + PATCH + 2);
}
END_TEST

// A signal handler returns to the patched instructions, wherever on a stack that ends soon its frame is.
START_TEST(test_handlers)
{
    enum { WORDS = 100 };
    uint64_t *stack = (uint64_t *)(void *)(memory + PAGE) - WORDS;
    sp = (uintptr_t)stack;
    for (size_t i = 0; i < WORDS; i++) {
        stack[i] = patched + 2;
        target.has_handlers = false;
        ck_assert_int_eq(hs_region__check(&region, &target), HS_REGION_GOOD);
        target.has_handlers = true;
        ck_assert_msg(hs_region__check(&region, &target) == HS_REGION_BUSY, "word %zu", i);
        stack[i] = patched + PATCH + 2;
        ck_assert_int_eq(hs_region__check(&region, &target), HS_REGION_GOOD);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inject_region");
    TCase *tests = tcase_create("region");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, test_read_some);
    tcase_add_test(tests, test_instruction);
    tcase_add_test(tests, test_handlers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
