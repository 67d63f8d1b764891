// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records operators new and delete of an allocator that brings its own (cxx.c).
#ifndef HEAPSONDE_SHIMS_COMMON_OPERATORS_H
#define HEAPSONDE_SHIMS_COMMON_OPERATORS_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stddef.h>

// Asks for the usable size of a block of the allocator that the operators belong to.
extern size_t (*_Atomic hs_operator__usable_size)(void *block) __attribute__((visibility("hidden")));

// Around the real operator new, which may throw, and may call hooked functions.
void hs_operator__enter_new(void);
void hs_operator__leave_new(const struct hs_registers *caller, void *block, size_t size);

// Around the real operator delete. False: there is nothing to leave.
bool hs_operator__enter_delete(const struct hs_registers *caller, void *block);
void hs_operator__leave_delete(void);

#endif
