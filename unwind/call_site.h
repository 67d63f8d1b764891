// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether a word may be a return address, which is the address after a call.
#ifndef HEAPSONDE_UNWIND_CALL_SITE_H
#define HEAPSONDE_UNWIND_CALL_SITE_H

#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// Whether a call of `module`, which is readable, ends at `pc`.
bool hs_call_site__in_module(const struct hs_module *module, uintptr_t pc);

// Whether a call ends at `pc`, or may end there if the code cannot be read. `pc` is where
// hs_code_at() has it. `may_go`: as for hs_memory_copy().
static inline bool hs_call_site__at(uintptr_t pc, bool may_go);

// Interpreters that are made at run time push return addresses that are behind no call. In such code, it is enough that
// the frame pointers go on to `caller`, if that is in any code. 0: they do not. The same is true where one of V8's
// functions in a file starts: it returns to some of them where it has deoptimized their caller.
bool hs_call_site__in_chain(uintptr_t pc, uintptr_t caller, bool may_go);
#pragma GCC visibility pop

static inline bool hs_call_site__at(uintptr_t pc, bool may_go)
{
    return hs_call_site__in_chain(pc, 0, may_go);
}

#endif
