// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where rules come from: modules that come and go, registered frames, .debug_frame, and nothing at all.
#define _GNU_SOURCE
#include "support.h"

#include "unwind/module.h"
#include "unwind/odd_rules.h"
#include "unwind/resolve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef void library_call(void (*callback)(void *), void *argument);

static atomic_int failures;

// In the library: inner() and leaf_library_call().
static void library_leaf(void *unused)
{
    (void)unused;
    failures += !side_stack_matches(3);
}

NOINLINE static void call_library(library_call *call)
{
    ENTER();
    call(library_leaf, NULL);
    OPAQUE(call);
    LEAVE();
}

// A copy of the file: the loader takes the same file for the same library.
static void copy_file(const char *from, const char *to)
{
    char command[1024];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    ck_assert_int_eq(system(command), 0);
}

struct loader {
    char paths[2][200];
    int rounds;
};

static void *load_and_unload(void *argument)
{
    struct loader *loader = argument;
    for (int i = 0; i < loader->rounds; i++) {
        void *library = dlopen(loader->paths[i & 1], RTLD_NOW | RTLD_LOCAL);
        library_call *call = library ? (library_call *)dlsym(library, "leaf_library_call") : NULL;
        if (!call) {
            failures++;
            return NULL;
        }
        call_library(call);
        call_library(call);
        hs_unwind_forget_rules();
        dlclose(library);
        hs_unwind_forget_rules();
    }
    return NULL;
}

START_TEST(libraries_come_and_go)
{
    enum { THREADS = 4 };
    char folder[] = "/tmp/heapsonde-unwind-XXXXXX";
    static struct loader loaders[THREADS];
    pthread_t threads[THREADS];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    if (_i)
        hs_module_ignore_loader(true);
    for (int i = 0; i < THREADS; i++) {
        loaders[i].rounds = 150;
        for (int variant = 0; variant < 2; variant++) {
            snprintf(loaders[i].paths[variant], sizeof loaders[i].paths[variant], "%s/%d-%d.so", folder, i, variant);
            copy_file(variant ? LEAF_LIBRARY_LARGE : LEAF_LIBRARY_SMALL, loaders[i].paths[variant]);
        }
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, load_and_unload, &loaders[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2 * THREADS; i++)
        unlink(loaders[i / 2].paths[i & 1]);
    rmdir(folder);
    ck_assert_int_eq(failures, 0);
}
END_TEST

START_TEST(debug_frame_only)
{
    void *library = dlopen(LEAF_LIBRARY_DEBUG_FRAME, RTLD_NOW);
    ck_assert_ptr_nonnull(library);
    library_call *call = (library_call *)dlsym(library, "leaf_library_call");
    for (int i = 0; i < 3; i++) {
        call_library(call);
        hs_unwind_forget_rules();
    }
    hs_module_ignore_loader(true);
    call_library(call);
    ck_assert_int_eq(failures, 0);
}
END_TEST

// Neither table: the machine code tells all, so nothing is guessed.
static void leaf_without_tables(void *unused)
{
    void *pcs[SIDE_MAX];
    struct hs_backtrace_info info;
    (void)unused;
    int depth = hs_backtrace_reason(pcs, SIDE_MAX, &info);
    failures += info.guessed || info.end != HS_BACKTRACE_COMPLETE || depth < 4 + side.depth;
    for (int i = 0; i < side.depth && 4 + i < depth; i++)
        failures += pcs[4 + i] != side.returns[side.depth - 1 - i];
}

NOINLINE static void call_without_tables(library_call *call)
{
    ENTER();
    call(leaf_without_tables, NULL);
    OPAQUE(call);
    LEAVE();
}

static void check_without_tables(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    ck_assert_ptr_nonnull(library);
    library_call *call = (library_call *)dlsym(library, "leaf_library_call");
    call_without_tables(call);
    call_without_tables(call);
    ck_assert_int_eq(failures, 0);
}

START_TEST(no_tables)
{
    check_without_tables(LEAF_LIBRARY_BARE);
}
END_TEST

START_TEST(no_tables_and_an_aligned_stack_pointer)
{
    check_without_tables(LEAF_LIBRARY_ALIGNED);
}
END_TEST

START_TEST(frame_pointers_only)
{
    check_without_tables(LEAF_LIBRARY_FRAME_POINTERS);
}
END_TEST

// sub $40,%rsp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; add $40,%rsp; ret
static const uint8_t jit_code[] = {0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0xf8, 0x48, 0x89,
                                   0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};

struct jit {
    uint8_t *code;
    uint8_t *eh_frame;
};

static void put32(uint8_t **at, uint32_t value)
{
    memcpy(*at, &value, 4);
    *at += 4;
}

// A CIE (version 1, no augmentation, absolute addresses) and an FDE; rsp+8 at the entry, rsp+48 after 4 bytes.
static struct jit make_jit(void)
{
    static const uint8_t cie[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0};
    static const uint8_t instructions[] = {0x44, 0x0e, 48, 0x4c, 0x0e, 8, 0, 0};
    struct jit jit;
    jit.code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(jit.code, MAP_FAILED);
    jit.eh_frame = jit.code + 4096;
    memcpy(jit.code + 64, jit_code, sizeof jit_code);
    uint8_t *at = jit.eh_frame;
    uint64_t address = (uintptr_t)jit.code + 64, size = sizeof jit_code;
    put32(&at, 4 + sizeof cie), put32(&at, 0);
    memcpy(at, cie, sizeof cie), at += sizeof cie;
    put32(&at, 4 + 16 + sizeof instructions), put32(&at, (uint32_t)(at - jit.eh_frame));
    memcpy(at, &address, 8), memcpy(at + 8, &size, 8), at += 16;
    memcpy(at, instructions, sizeof instructions), at += sizeof instructions;
    put32(&at, 0);
    return jit;
}

static void jit_leaf(void *unused)
{
    (void)unused;
    failures += !side_stack_matches(2);
}

NOINLINE static void call_jit(library_call *call)
{
    ENTER();
    call(jit_leaf, NULL);
    OPAQUE(call);
    LEAVE();
}

START_TEST(registered_frames)
{
    struct jit jit = make_jit();
    library_call *call = (library_call *)(jit.code + 64);
    call_jit(call);
    ck_assert_int_eq(failures, 1); // not known yet
    ck_assert_int_eq(hs_register_frames(jit.eh_frame), 0);
    for (int i = 0; i < 10; i++)
        call_jit(call);
    ck_assert_int_eq(failures, 1);
    ck_assert_int_eq(hs_deregister_frames(jit.eh_frame), 0);
    ck_assert_int_eq(hs_deregister_frames(jit.eh_frame), -1);
    call_jit(call);
    ck_assert_int_eq(failures, 2);
    ck_assert_int_eq(hs_register_frames(NULL), -1);
    ck_assert_int_eq(hs_register_frames("\1\0\0\0x\0\0\0\0"), -1);
}
END_TEST

static atomic_bool stop;
static void *register_again_and_again(void *unused)
{
    (void)unused;
    while (!stop) {
        struct jit jit = make_jit();
        failures += hs_register_frames(jit.eh_frame) != 0;
        call_jit((library_call *)(jit.code + 64));
        failures += hs_deregister_frames(jit.eh_frame) != 0;
        munmap(jit.code, 8192);
    }
    return NULL;
}

// Sections come and go in two threads while a third one's code has to be found between them.
START_TEST(registered_frames_in_threads)
{
    pthread_t threads[2];
    struct jit jit = make_jit();
    ck_assert_int_eq(hs_register_frames(jit.eh_frame), 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, register_again_and_again, NULL);
    for (int i = 0; i < 20000; i++)
        call_jit((library_call *)(jit.code + 64));
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(failures, 0);
}
END_TEST

// The vdso, libc and this program are found with and without the loader's help, with the same result.
START_TEST(modules_agree)
{
    void *const addresses[] = {(void *)malloc, (void *)check_side_stack, (void *)(getauxval(AT_SYSINFO_EHDR) + 0x900),
                               (void *)pthread_create};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        struct hs_module loader, maps;
        hs_module_ignore_loader(false);
        ck_assert(hs_module_find((uintptr_t)addresses[i], &loader));
        hs_module_ignore_loader(true);
        ck_assert(hs_module_find((uintptr_t)addresses[i], &maps));
        ck_assert_uint_eq(loader.start, maps.start);
        ck_assert_ptr_eq(loader.eh_frame_hdr, maps.eh_frame_hdr);
        ck_assert(!maps.anonymous);
    }
}
END_TEST

static unsigned looks;

long __real_hs_system_open_own(const char *self, const char *thread_self);
long __wrap_hs_system_open_own(const char *self, const char *thread_self);
long __wrap_hs_system_open_own(const char *self, const char *thread_self)
{
    looks++;
    return __real_hs_system_open_own(self, thread_self);
}

// A word that is no code, met by every walk, must not cost a look into /proc/self/maps each time.
START_TEST(no_code_is_remembered)
{
    uint8_t *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct hs_module module;
    looks = 0;
    for (int i = 0; i < 100000; i++)
        ck_assert(!hs_module_find((uintptr_t)data + (uintptr_t)i % 64, &module));
    ck_assert_uint_gt(looks, 0);
    ck_assert_uint_lt(looks, 1000);
    // Code that appears there is found after a while, and at once after forgetting.
    uint8_t *code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(!hs_module_find((uintptr_t)code + 5, &module));
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    hs_unwind_forget_rules();
    ck_assert(hs_module_find((uintptr_t)code + 5, &module));
    ck_assert(module.anonymous);
}
END_TEST

static uint8_t *page_known_as_data(void)
{
    struct hs_module module;
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 5; i++)
        ck_assert(!hs_module_find((uintptr_t)page + 5, &module));
    return page;
}

// A word on a stack may point to data where the program puts code later.
START_TEST(code_where_data_was_is_found_soon)
{
    struct hs_module module;
    uint8_t *page = page_known_as_data();
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    bool found = false;
    for (int i = 0; i < 5 && !found; i++)
        found = hs_module_find((uintptr_t)page + 5, &module);
    ck_assert(found);
    ck_assert(module.anonymous);
}
END_TEST

START_TEST(mapped_code_is_found_at_once)
{
    struct hs_module module;
    uint8_t *page = page_known_as_data();
    ck_assert_ptr_eq(mmap(page, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), page);
    hs_module_code_appears();
    ck_assert(hs_module_find((uintptr_t)page + 5, &module));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sources");
    TCase *cases = tcase_create("sources");
    tcase_add_loop_test(cases, libraries_come_and_go, 0, 2);
    tcase_add_test(cases, debug_frame_only);
    tcase_add_test(cases, no_tables);
    tcase_add_test(cases, no_tables_and_an_aligned_stack_pointer);
    tcase_add_test(cases, frame_pointers_only);
    tcase_add_test(cases, registered_frames);
    tcase_add_test(cases, registered_frames_in_threads);
    tcase_add_test(cases, modules_agree);
    tcase_add_test(cases, no_code_is_remembered);
    tcase_add_test(cases, code_where_data_was_is_found_soon);
    tcase_add_test(cases, mapped_code_is_found_at_once);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
