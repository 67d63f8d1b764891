// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether a word may be a return address: what a call leaves is the address behind it.
#ifndef HEAPSONDE_UNWIND_CALL_SITE_H
#define HEAPSONDE_UNWIND_CALL_SITE_H

#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// Whether a call of `module`, which is readable, ends at `pc`.
bool hs_call_site__in_module(const struct hs_module *module, uintptr_t pc);

// Whether a call ends at `pc`, or may do so: of code that cannot be read nothing else is known. `pc` is where
// hs_code_at() has it. `may_go`: as for hs_memory_copy().
bool hs_call_site__at(uintptr_t pc, bool may_go);
#pragma GCC visibility pop

#endif
