// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stack that the compiler vouches for. A program that is compiled with -finstrument-functions tells at each entry
// of a function its address and its return address, and at each exit; they are kept here for each thread. At random
// entries and exits the walker's stack is held against them: every function has to be there, in order, with nothing of
// the program's code between two of them, and each return address has to lie in the function that it should return to.
#ifndef TESTS_TARGET_SIDE_STACK_H
#define TESTS_TARGET_SIDE_STACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Before anything is checked: one of `rarity` entries and exits is. HEAPSONDE_TEST_SEED takes the place of the seed.
void side_stack__begin(unsigned rarity) __attribute__((no_instrument_function));

// Of each further thread first and last: its own sequence of random numbers, and what it found.
void side_stack__begin_thread(unsigned number) __attribute__((no_instrument_function));
void side_stack__end_thread(void) __attribute__((no_instrument_function));
uint32_t side_stack__random(uint32_t below) __attribute__((no_instrument_function));

// For jumps out of functions: the depth now, and back to it.
int side_stack__depth(void) __attribute__((no_instrument_function));
void side_stack__cut(int depth) __attribute__((no_instrument_function));

// In a handler: the stack that the signal interrupted, whose third argument is `context`.
void side_stack__check_interrupted(const void *context) __attribute__((no_instrument_function));

// Prints what was checked; the exit status of the program. Fewer than `least` checks are a failure, too.
int side_stack__finish(unsigned least) __attribute__((no_instrument_function));

#ifdef __cplusplus
}
#endif

#endif
