// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Machine code that is made at run time, without tables and without frame pointers, whose frames are found by what
// their runtime keeps in them.
#ifndef HEAPSONDE_UNWIND_KNOWN_FRAME_H
#define HEAPSONDE_UNWIND_KNOWN_FRAME_H

#include "arch/arch.h"
#include "unwind/capture.h"
#include "unwind/stack_memory.h"

// The offsets within the frames are those of AMD64.
#if defined(__x86_64__) && !defined(HS_ARCH_HEADER) && UINTPTR_MAX == UINT64_MAX
#define HS_KNOWN_FRAMES 1

#pragma GCC visibility push(hidden)
// Who called the machine code of LuaJIT's or PyPy's compiler that has the stack pointer `sp`. False: it is none.
// `near`: what the code called has pushed something, but has no table either.
bool hs_luajit_frame__find(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller);
bool hs_pypy_frame__at(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller);
bool hs_pypy_frame__near(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller);
#pragma GCC visibility pop
#else
#define HS_KNOWN_FRAMES                           0
#define hs_luajit_frame__find(memory, sp, caller) ((void)(memory), (void)(sp), (void)(caller), false)
#define hs_pypy_frame__at                         hs_luajit_frame__find
#define hs_pypy_frame__near                       hs_luajit_frame__find
#endif

#endif
