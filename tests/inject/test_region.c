// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When a stopped thread is in the way of a patch. The memory is this process's own; nothing can be read behind its end,
// which is the end of a file. Which areas and numbers are taken on machines of another kind.
#define _GNU_SOURCE // memfd_create
#include "host/inject/hooks.h"
#include "host/inject/region.h"
#include "host/inject/words.h"
#include "tests/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 0x10000, PATCH = 5 }; // as large as the largest pages

static const uint64_t patched = 0x40201230;
static uint8_t *memory;        // PAGE bytes
static uint64_t pc, sp, block; // block: the thread control block; 0: there is none

static int get(pid_t tid, void *registers)
{
    (void)tid, (void)registers;
    return 0;
}

static void look(const void *registers, uint64_t *pc_of, uint64_t *sp_of)
{
    (void)registers;
    *pc_of = pc;
    *sp_of = sp;
}

static int thread_pointer(pid_t tid, const void *registers, uint64_t *pointer)
{
    (void)tid, (void)registers;
    *pointer = block;
    return 0;
}

static const struct hs_inject_arch arch = {.get = get, .look = look, .thread_pointer = thread_pointer};
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

static bool is_in_patch(uint64_t address, uint64_t at)
{
    return address > at && address < at + PATCH + 2;
}

START_TEST(test_instruction)
{
    const uint64_t other = patched + 2 * PATCH;
    region.patches[region.patch_count++] = (struct hs_region_patch){.at = other, .consumed = PATCH + 2};
    for (pc = patched - 2; pc < other + PATCH + 4; pc++) {
        thread.is_seen = false;
        ck_assert_int_eq(hs_region__check(&region, &target) == HS_REGION_BUSY,
                         is_in_patch(pc, patched) || is_in_patch(pc, other));
    }
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

// Beyond its control block, no stack of a thread goes on.
START_TEST(test_stack_of_thread)
{
    enum { WORDS = 100, BLOCK = 60 };
    uint64_t *stack = (uint64_t *)(void *)(memory + PAGE) - WORDS;
    sp = (uintptr_t)stack;
    block = (uintptr_t)(stack + BLOCK);
    target.has_handlers = true;
    for (size_t i = 0; i < WORDS; i++) {
        memset(stack, 0, WORDS * sizeof *stack);
        thread.is_seen = false;
        if (i != BLOCK)
            stack[i] = patched + 2;
        ck_assert_msg((hs_region__check(&region, &target) == HS_REGION_BUSY) == (i < BLOCK), "word %zu", i);
    }
    block = 0;
}
END_TEST

// ---- areas ---------------------------------------------------------------------------------------------------------

static const struct hs_family_function usual = {.name = "malloc"};

// A module of `count` allocators with a function each.
static void add_sets(struct hs_hooks *hooks, const struct hs_inject_module *module, const char *const *names,
                     const uint64_t *functions, size_t count)
{
    hooks->sets.each = calloc(count, sizeof *hooks->sets.each);
    ck_assert_ptr_nonnull(hooks->sets.each);
    hooks->sets.count = count;
    for (size_t i = 0; i < count; i++) {
        struct hs_allocator_set *set = &hooks->sets.each[i];
        snprintf(set->name, sizeof set->name, "%s", names[i]);
        set->module = module;
        set->count = 1;
        set->each[0].is = &usual;
        set->each[0].function = (struct hs_function){module, functions[i], 4 * sizeof(uint32_t)};
    }
}

// On MIPS64 no jump leaves its segment of 256 MiB. Of a module that lies in two, each function has the areas of its
// own.
START_TEST(test_two_segments)
{
    enum { SEGMENT = 1 << 28, SPACE = 2 * SEGMENT + 2 * PAGE };
    static struct hs_hooks hooks;
    struct hs_inject_result result = {0};
    uint8_t *space = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(space, MAP_FAILED);
    const uint64_t line = ((uintptr_t)space + PAGE + SEGMENT - 1) & ~(uint64_t)(SEGMENT - 1);
    uint8_t *code = space + (line - PAGE - (uintptr_t)space); // zeros, which are instructions
    ck_assert_int_eq(mprotect(code, 2 * PAGE, PROT_READ), 0);
    const ElfW(Phdr) segment = {.p_type = PT_LOAD, .p_filesz = 2 * PAGE, .p_memsz = 2 * PAGE};
    const struct hs_inject_module module = {.file = {code, 2 * PAGE, &segment, 1}, .bias = line - PAGE};
    struct hs_inject_target mips = {.arch = &hs_inject_mips64, .memory = target.memory};
    static struct hs_region patches;
    hooks = (struct hs_hooks){.target = &mips, .region = &patches, .result = &result, .adopted = line};
    for (uint64_t i = 0; i < HS_AREAS; i++)
        ck_assert_int_eq(hs_hooks__add_area(&hooks, line + (i ? (i - 1) * SEGMENT : (uint64_t)-HS_AREA_SIZE)), 0);
    add_sets(&hooks, &module, (const char *const[]){"below", "above"}, (const uint64_t[]){line - 64, line + 64}, 2);
    ck_assert_int_eq(hs_hooks__prepare(&hooks, NULL), 0);
    ck_assert_str_eq(result.unpatched, "");
    ck_assert_str_eq(result.allocators, "below, above");
    ck_assert_uint_eq(patches.patch_count, 2);
    for (size_t i = 0; i < HS_AREAS; i++)
        ck_assert_int_eq(hooks.areas[i].used > 0, i < 2);
    hs_hooks__free(&hooks);
    munmap(space, SPACE);
}
END_TEST

START_TEST(test_left_out)
{
    static struct hs_hooks hooks;
    struct hs_inject_result result = {.unpatched = "valloc"};
    hooks = (struct hs_hooks){.result = &result};
    add_sets(&hooks, NULL, (const char *const[]){"je_malloc", "je_malloc", "mi_malloc"}, (const uint64_t[3]){0}, 3);
    hs_hooks__leave_out(&hooks);
    ck_assert_str_eq(result.unpatched, "valloc, je_malloc, mi_malloc");
    ck_assert_uint_eq(hooks.sets.count, 0);
}
END_TEST

// ---- thread-local words --------------------------------------------------------------------------------------------

enum { THREAD_SIZE = 0x740, THREAD_BELOW = 0x7750, NUMBER_AT = 0xd0 };

// As a libc exports them for debuggers; on MIPS64, between the end and the thread pointer there is more than nothing.
#define EXPORTED(name) __asm__(name) __attribute__((visibility("default")))
extern const uint32_t thread_size EXPORTED("_thread_db_sizeof_pthread");
extern const uint32_t thread_below EXPORTED("_thread_db_const_thread_area");
extern const uint32_t number_of_thread[3] EXPORTED("_thread_db_pthread_tid");
const uint32_t thread_size = THREAD_SIZE, thread_below = THREAD_BELOW, number_of_thread[3] = {32, 1, NUMBER_AT};

START_TEST(test_told_words)
{
    struct hs_inject_target own;
    struct hs_inject_modules modules;
    struct hs_thread_words words;
    if (!hs_inject_arch__native())
        return;
    ck_assert_int_eq(hs_inject_target__open(&own, getpid(), NULL), 0);
    ck_assert_int_eq(hs_inject_target__read_mappings(&own, NULL), 0);
    ck_assert_int_eq(hs_inject_modules__open(&modules, &own, NULL), 0);
    own.arch = &hs_inject_mips64;
    ck_assert(hs_words__told(&own, &modules, &words));
    ck_assert_int_eq(words.word, hs_inject_mips64.words[0].word);
    ck_assert_int_eq(words.tid, NUMBER_AT - THREAD_BELOW);
    hs_inject_modules__close(&modules);
    hs_inject_target__close(&own);
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
    tcase_add_test(tests, test_stack_of_thread);
    tcase_add_test(tests, test_two_segments);
    tcase_add_test(tests, test_left_out);
    tcase_add_test(tests, test_told_words);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
