// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs a function one instruction at a time and walks the stack after each, in the SIGTRAP handler.
//
// The oracle is a shadow stack that is kept from the instructions themselves: a call pushes its return address, and an
// entry is gone as soon as the stack pointer is above it. It knows nothing of unwind tables.
#ifndef HEAPSONDE_TESTS_UNWIND_STEPPER_H
#define HEAPSONDE_TESTS_UNWIND_STEPPER_H

#include <stdbool.h>
#include <stdint.h>

enum { STEPPER_EXAMPLES = 2000 };

struct stepper_result {
    uint64_t steps;
    uint64_t calls;
    uint64_t deepest;
    uint64_t differences; // steps at which a walk did not return the expected stack
    uint64_t vdso_steps;
    struct {
        uintptr_t pc;
        const char *walker;
        int expected, found, at;
    } examples[STEPPER_EXAMPLES];
};

// Runs function(argument). `alternate`: the handler runs on its own stack.
void stepper_run(void (*function)(void *), void *argument, bool alternate, struct stepper_result *result);

// Prints the examples with module and symbol.
void stepper_print(const struct stepper_result *result);

#endif
