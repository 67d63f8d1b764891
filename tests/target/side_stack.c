// SPDX-License-Identifier: MIT OR Apache-2.0
#include "side_stack.h"

#include <heapsonde/unwind.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITH_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

enum { MOST_DEPTH = 1024, MOST_FRAMES = 4096, MOST_FUNCTIONS = 1024, MOST_FAILURES = 3 };
enum { OWN_FRAMES = 3 }; // check(), check_sometimes() and the hook

struct entry {
    uintptr_t function, return_address;
};

struct side_stack {
    struct entry entries[MOST_DEPTH];
    void *found[MOST_FRAMES];
    int depth, found_count;
    uint64_t random;
    unsigned long checks, frames, in_order; // atomic additions stop all threads of an emulated ARMv5
    bool busy, begun;
};

void __cyg_profile_func_enter(void *function, void *return_address);
void __cyg_profile_func_exit(void *function, void *return_address);

extern char __executable_start[], etext[];
static __thread struct side_stack stack;
static _Atomic uintptr_t function_set[MOST_FUNCTIONS], functions[MOST_FUNCTIONS]; // that were entered: hashed, listed
static atomic_uint function_count;
static atomic_ulong checks, frames, in_order, failures;
static uint64_t seed = 20230610;
static unsigned one_of;

// Bit 0 says Thumb; an address in it is without.
static uintptr_t code_address(const void *pointer)
{
#ifdef __arm__
    return (uintptr_t)pointer & ~(uintptr_t)1;
#else
    return (uintptr_t)pointer;
#endif
}

uint32_t side_stack__random(uint32_t below)
{
    stack.random ^= stack.random << 13;
    stack.random ^= stack.random >> 7;
    stack.random ^= stack.random << 17;
    return (uint32_t)(stack.random >> 32) % below;
}

void side_stack__begin_thread(unsigned number)
{
    stack.random = seed + 0x9e3779b97f4a7c15ull * (number + 1);
    stack.begun = true;
}

void side_stack__end_thread(void)
{
    atomic_fetch_add(&checks, stack.checks);
    atomic_fetch_add(&frames, stack.frames);
    atomic_fetch_add(&in_order, stack.in_order);
    stack.begun = false;
}

void side_stack__begin(unsigned rarity)
{
    const char *given = getenv("HEAPSONDE_TEST_SEED");
    if (given && *given)
        seed = strtoull(given, NULL, 10);
    printf("HEAPSONDE_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    one_of = rarity;
    side_stack__begin_thread(0);
}

static void note_function(uintptr_t function)
{
    for (unsigned i = 0, at = function / 4 % MOST_FUNCTIONS; i < MOST_FUNCTIONS; i++) {
        uintptr_t none = 0;
        _Atomic uintptr_t *place = &function_set[(at + i) % MOST_FUNCTIONS];
        if (atomic_load_explicit(place, memory_order_relaxed) == function)
            return;
        if (atomic_compare_exchange_strong(place, &none, function))
            atomic_store(&functions[atomic_fetch_add(&function_count, 1)], function);
        if (none == 0 || none == function)
            return;
    }
    fprintf(stderr, "side_stack.c: more than %d functions; raise the limit\n", MOST_FUNCTIONS);
    exit(2);
}

// Whether the instruction before `return_address` is in `function`: no other function starts between them.
static bool is_in(uintptr_t return_address, uintptr_t function)
{
    if (return_address <= function)
        return false;
    for (unsigned i = 0; i < function_count; i++) {
        uintptr_t other = atomic_load_explicit(&functions[i], memory_order_relaxed);
        if (other > function && other < return_address)
            return false;
    }
    return true;
}

// Not known of programs with functions that are not instrumented: those of a static libc, templates of the library.
static bool is_program(uintptr_t address)
{
#ifdef SIDE_STACK_FUNCTIONS_BETWEEN
    (void)address;
    return false;
#else
    return address >= (uintptr_t)__executable_start && address < (uintptr_t)etext;
#endif
}

static uintptr_t found_at(int index)
{
    return code_address(stack.found[index]);
}

static void print_failure(const char *problem, int entry, int at, const struct hs_backtrace_info *info)
{
    if (atomic_fetch_add(&failures, 1) >= MOST_FAILURES)
        return;
    printf("%s: entry %d of %d, at frame %d of %d (end %d, guessed %d); program %p to %p\n", problem, entry,
           stack.depth, at, stack.found_count, info->end, info->guessed, (void *)__executable_start, (void *)etext);
    for (int i = 0; i < stack.found_count; i++)
        printf("%s%p%s", i % 8 ? " " : "\n  ", stack.found[i], i == at ? "<" : "");
    printf("\nthe compiler's, return addresses (functions):");
    for (int i = stack.depth; i-- > 0;)
        printf("%s%#lx(%#lx)%s", (stack.depth - i) % 4 == 1 ? "\n  " : " ",
               (unsigned long)stack.entries[i].return_address, (unsigned long)stack.entries[i].function,
               i == entry ? "<" : "");
    printf("\n");
    fflush(stdout);
}

// The frame of found[] behind `at` that is the return address of the entry; what lies between is not the program's, but
// for the last one, where the entry's function is. -1, and *problem says what is wrong.
static int find_entry(const struct entry *entry, int at, const char **problem)
{
    int index = at + 1;
    while (index < stack.found_count && found_at(index) != entry->return_address)
        index++;
    if (index == stack.found_count) {
        *problem = "a function is missing";
        return -1;
    }
    for (int i = at; i < index - 1; i++)
        if (is_program(found_at(i))) {
            *problem = "a function is there that was not called";
            return -1;
        }
    if (!is_in(found_at(index - 1), entry->function)) {
        *problem = "a return address is in another function";
        return -1;
    }
    return index;
}

// The entries from `top` down, from found[at] on.
static void compare(int top, int at, const struct hs_backtrace_info *info)
{
    const char *problem = NULL;
    stack.checks++;
    for (int i = top; i >= 0; i--) {
        int index = find_entry(&stack.entries[i], at, &problem);
        if (index < 0) {
            print_failure(problem, i, at, info);
            return;
        }
        at = index;
        stack.in_order++;
    }
    if (info->end != HS_BACKTRACE_COMPLETE || info->guessed)
        print_failure(info->guessed ? "a frame is guessed" : "the stack is cut", 0, stack.found_count, info);
    stack.frames += (unsigned long)stack.found_count;
}

#ifdef WITH_LIBUNWIND
static int walk_libunwind(void **pcs, int max)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc;
    int count = 0;
    if (unw_getcontext(&context) || unw_init_local(&cursor, &context))
        return 0;
    do {
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        pcs[count++] = (void *)(uintptr_t)pc;
    } while (count < max && unw_step(&cursor) > 0);
    return count;
}

// From the hook outwards: what is inside differs by the calls.
static void compare_libunwind(const struct hs_backtrace_info *info)
{
    static __thread void *theirs[MOST_FRAMES];
    int from = OWN_FRAMES - 1, count = walk_libunwind(theirs, MOST_FRAMES), shift = 0;
    while (shift < count - from && theirs[from + shift] != stack.found[from])
        shift++;
    for (int i = from; i < stack.found_count; i++)
        if (i + shift >= count || theirs[i + shift] != stack.found[i]) {
            print_failure("libunwind has another frame or none", 0, i, info);
            return;
        }
    if (count - shift != stack.found_count)
        print_failure("libunwind has more frames", 0, stack.found_count, info);
}
#endif

static __attribute__((noinline)) void check(void)
{
    struct hs_backtrace_info info;
    stack.found_count = hs_backtrace_reason(stack.found, MOST_FRAMES, &info);
    compare(stack.depth - 1, OWN_FRAMES, &info);
#ifdef WITH_LIBUNWIND
    compare_libunwind(&info);
#endif
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void check_sometimes(void)
{
    if (!stack.begun || stack.busy || side_stack__random(one_of))
        return;
    stack.busy = true;
    check();
    stack.busy = false;
}

void side_stack__check_interrupted(const void *context)
{
    struct hs_backtrace_info info;
    stack.found_count = hs_backtrace_context(stack.found, MOST_FRAMES, context, &info);
    compare(stack.depth - 2, 0, &info);
}

void __cyg_profile_func_enter(void *function, void *return_address)
{
    if (stack.depth == MOST_DEPTH) {
        fprintf(stderr, "side_stack.c: more than %d nested functions; raise the limit\n", MOST_DEPTH);
        exit(2);
    }
    note_function(code_address(function));
    stack.entries[stack.depth] = (struct entry){code_address(function), code_address(return_address)};
    stack.depth++;
    check_sometimes();
    __asm__ volatile("" ::: "memory");
}

void __cyg_profile_func_exit(void *function, void *return_address)
{
    const struct entry *top = &stack.entries[stack.depth - 1];
    if (stack.depth == 0 || top->function != code_address(function) ||
        top->return_address != code_address(return_address)) {
        printf("the side stack itself is out of step: %p leaves at depth %d\n", function, stack.depth);
        exit(2);
    }
    check_sometimes();
    stack.depth--;
    __asm__ volatile("" ::: "memory");
}

int side_stack__depth(void)
{
    return stack.depth;
}

void side_stack__cut(int depth)
{
    stack.depth = depth;
}

int side_stack__finish(unsigned least)
{
    side_stack__end_thread();
    printf("%lu stacks, %lu frames, %lu of them in order with the compiler's; %lu wrong\n", checks, frames, in_order,
           failures);
    return failures != 0 || checks < least;
}
