// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What step_remote drives: without an argument, a program to be stepped through; with `walk`, one that has its code at
// the same addresses and walks the snapshots that come from standard input.
#define _GNU_SOURCE
#include "judge.h"
#include "shapes.h"

#include "unwind/rule_cache.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY = 16384 };
#if defined(__arm__)
enum { CORE = 15 };
#else
enum { CORE = 32 };
#endif

// `size` bytes of stack follow; 0: the stack is not looked at.
struct step {
    uint32_t size;
    uint32_t handler;
    uintptr_t pc;
    uintptr_t core[CORE];
};

static uint8_t copy[COPY];

static bool read_step(struct step *step, struct hs_snapshot *at)
{
    if (fread(step, sizeof *step, 1, stdin) != 1)
        return false;
    if (step->size > COPY || fread(copy, 1, step->size, stdin) != step->size)
        exit(1);
    memcpy(at->registers.values, step->core, sizeof step->core);
    at->registers.values[HS_DWARF_PC] = step->pc;
    at->copy = copy;
    at->size = step->size;
    return true;
}

// QEMU stops in delay slots, where no kernel says that a program was.
static bool in_delay_slot(const struct shadow *shadow, uintptr_t pc)
{
    struct hs_instruction instruction;
    uint32_t context = 0;
    const uint8_t *code = (const uint8_t *)(shadow->pc & ~(uintptr_t)1);
    return pc == shadow->pc + 4 && HS_ARCH_DECODER(shadow->pc)->decode(code, 4, shadow->pc, &context, &instruction) &&
           instruction.delay_slot;
}

static int walk(const char *name)
{
    struct hs_snapshot at = {.size = 0};
    struct shadow shadow;
    struct step step;
    if (!read_step(&step, &at))
        return 1;
    shadow_begin(&shadow, &at);
    do {
        if (at.size)
            judge_step(&shadow, &at);
        else
            judge_again(&at);
        do {
            if (!read_step(&step, &at))
                return judge_end(name);
        } while (in_delay_slot(&shadow, step.pc));
        shadow_step(&shadow, &at, step.handler);
    } while (shadow.depth);
    return judge_end(name);
}

int main(int count, char **arguments)
{
    printf("%#lx %#lx\n", (unsigned long)shapes_run, (unsigned long)qsort);
    fflush(stdout);
    if (count > 1 && !strcmp(arguments[1], "walk"))
        return walk(arguments[0]);
    raise(SIGUSR1);
    shapes_run();
    return 0;
}
