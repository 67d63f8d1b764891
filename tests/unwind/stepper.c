// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "stepper.h"

#include "unwind/include/heapsonde/unwind.h"
#include "unwind/walk.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

void stepper_call(void (*function)(void *), void *argument);

enum { SHADOW_MAX = 4096, STACK_MAX = 8192, ALTERNATE_SIZE = 1 << 17 };

static struct stepper_result *result;
static const uintptr_t *shadow[SHADOW_MAX]; // where each return address is
static int shadow_depth;
static void *base[STACK_MAX], *walked[STACK_MAX], *expected[STACK_MAX];
static int base_depth;
static uintptr_t last_pc, last_sp;

// Whether a call instruction is at `pc`. Prefixes: operand size, segment (notrack), repne (bnd), REX.
static bool is_call(const uint8_t *pc)
{
    while (*pc == 0x66 || *pc == 0x3e || *pc == 0x2e || *pc == 0xf2)
        pc++;
    if ((*pc & 0xf0) == 0x40)
        pc++;
    return *pc == 0xe8 || (*pc == 0xff && (pc[1] >> 3 & 7) == 2);
}

static void follow(uintptr_t pc, uintptr_t sp)
{
    while (shadow_depth && (uintptr_t)shadow[shadow_depth - 1] < sp)
        shadow_depth--;
    if (!last_pc || (sp == last_sp - 8 && is_call((const uint8_t *)last_pc) && shadow_depth < SHADOW_MAX)) {
        shadow[shadow_depth++] = (const uintptr_t *)sp;
        result->calls++;
    }
    last_pc = pc;
    last_sp = sp;
}

// The first trap is at the entry of the function: its return address, base[1], is the first of the shadow stack.
// Entries are read where they are: a function that is about to enter a handler changes its own return address.
static int expect(uintptr_t pc)
{
    int depth = 0;
    expected[depth++] = (void *)pc;
    for (int i = shadow_depth; i-- > 0;)
        expected[depth++] = (void *)*shadow[i];
    for (int i = 2; i < base_depth; i++)
        expected[depth++] = base[i];
    return depth;
}

// Compares what a walker found from the interrupted pc on.
static void compare(const char *walker, uintptr_t pc, void *const *found, int depth, bool complete)
{
    int wanted = expect(pc), at = 0;
    while (at < wanted && at < depth && expected[at] == found[at])
        at++;
    if (at == wanted && at == depth && complete)
        return;
    if (result->differences < STEPPER_EXAMPLES) {
        result->examples[result->differences].pc = pc;
        result->examples[result->differences].walker = walker;
        result->examples[result->differences].expected = wanted;
        result->examples[result->differences].found = depth;
        result->examples[result->differences].at = at;
    }
    result->differences++;
}

// Frames of the handler itself and of the signal trampoline: the walkers start in on_trap() or in its callee.
enum { HANDLER_FRAMES = 2 };

static __attribute__((noinline)) int plain_walk(enum hs_end *end)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    return (int)hs_walk_plain((uintptr_t *)walked, STACK_MAX, &start, end);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;
    uintptr_t pc = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
    uintptr_t sp = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
    struct hs_backtrace_info how;
    enum hs_end end;
    (void)number, (void)info;
    if (!result->steps++) {
        base_depth = hs_backtrace_context(base, STACK_MAX, context, &how);
        if (how.end != HS_BACKTRACE_COMPLETE)
            result->differences++;
    }
    follow(pc, sp);
    result->deepest = (uint64_t)shadow_depth > result->deepest ? (uint64_t)shadow_depth : result->deepest;
    uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    result->vdso_steps += pc - vdso < 0x4000;
    int depth = hs_backtrace_reason(walked, STACK_MAX, &how);
    compare("memo", pc, walked + HANDLER_FRAMES, depth - HANDLER_FRAMES, how.end == HS_BACKTRACE_COMPLETE);
    depth = plain_walk(&end);
    compare("plain", pc, walked + HANDLER_FRAMES, depth - HANDLER_FRAMES, end == HS_END_ROOT);
    depth = hs_backtrace_context(walked, STACK_MAX, context, &how);
    compare("context", pc, walked, depth, how.end == HS_BACKTRACE_COMPLETE);
}

void stepper_run(void (*function)(void *), void *argument, bool alternate, struct stepper_result *to)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | (alternate ? SA_ONSTACK : 0)}, before;
    stack_t stack = {.ss_sp = malloc(ALTERNATE_SIZE), .ss_size = ALTERNATE_SIZE};
    action.sa_sigaction = on_trap;
    memset(to, 0, sizeof *to);
    result = to;
    shadow_depth = base_depth = 0;
    last_pc = last_sp = 0;
    sigaltstack(&stack, NULL);
    sigaction(SIGTRAP, &action, &before);
    stepper_call(function, argument);
    sigaction(SIGTRAP, &before, NULL);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(stack.ss_sp);
}

void stepper_print(const struct stepper_result *from)
{
    fprintf(stderr, "%lu steps, %lu calls, %lu deep, %lu in the vdso, %lu differences\n", from->steps, from->calls,
            from->deepest, from->vdso_steps, from->differences);
    for (uint64_t i = 0; i < from->differences && i < 10; i++) {
        Dl_info where = {0};
        dladdr((void *)from->examples[i].pc, &where);
        fprintf(stderr, "  %s at %s+%#tx %s+%#tx: expected %d frames, found %d, equal up to %d\n",
                from->examples[i].walker, where.dli_fname ? where.dli_fname : "?",
                (char *)from->examples[i].pc - (char *)where.dli_fbase, where.dli_sname ? where.dli_sname : "?",
                (char *)from->examples[i].pc - (char *)where.dli_saddr, from->examples[i].expected,
                from->examples[i].found, from->examples[i].at);
    }
}
