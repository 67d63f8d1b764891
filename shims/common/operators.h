// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records operators new and delete of an allocator that brings its own (cxx.c).
#ifndef HEAPSONDE_SHIMS_COMMON_OPERATORS_H
#define HEAPSONDE_SHIMS_COMMON_OPERATORS_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The arguments of an operator, whether they exist or not, and behind them the operator itself, which the real
// functions ignore.
struct operator;
typedef void *hs_operator_function(uintptr_t first, uintptr_t second, uintptr_t third, struct operator* operator);

// How an operator of the C++ library can be carried out without it: all it does is to call malloc or free. NULL: not.
enum hs_operator_kind { HS_OPERATOR_OTHER, HS_OPERATOR_NEW, HS_OPERATOR_DELETE, HS_OPERATOR_KINDS };
extern hs_operator_function *const hs_operator__directly[HS_OPERATOR_KINDS] __attribute__((visibility("hidden")));

// The C++ library's operator new, once HS_OPERATOR_NEW is carried out without it.
extern hs_operator_function *_Atomic hs_operator__library_new __attribute__((visibility("hidden")));

// Asks for the usable size of a block of the allocator that the operators belong to.
extern size_t (*_Atomic hs_operator__usable_size)(void *block) __attribute__((visibility("hidden")));

// Around the real operator new, which may throw, and may call hooked functions.
void hs_operator__enter_new(void);
void hs_operator__leave_new(const struct hs_registers *caller, void *block, size_t size);

// Around the real operator delete. False: there is nothing to leave.
bool hs_operator__enter_delete(const struct hs_registers *caller, void *block);
void hs_operator__leave_delete(void);

#endif
