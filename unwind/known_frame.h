// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Machine code that is made at run time, without tables and without frame pointers, whose frames are found by what
// their runtime keeps in them.
#ifndef HEAPSONDE_UNWIND_KNOWN_FRAME_H
#define HEAPSONDE_UNWIND_KNOWN_FRAME_H

#include "arch/arch.h"
#include "unwind/capture.h"
#include "unwind/stack_memory.h"

// The offsets within the frames are those of one machine each.
#if defined(__x86_64__) && !defined(HS_ARCH_HEADER) && UINTPTR_MAX == UINT64_MAX
#define HS_KNOWN_FRAMES 1
#define HS_PYPY_FRAMES  1
#elif defined(__aarch64__) && !defined(HS_ARCH_HEADER) && UINTPTR_MAX == UINT64_MAX
#define HS_KNOWN_FRAMES 0
#define HS_PYPY_FRAMES  1
#else
#define HS_KNOWN_FRAMES 0
#define HS_PYPY_FRAMES  0
#endif

// Who called the machine code of LuaJIT's or PyPy's compiler that has the stack pointer `sp`. False: it is none. What
// PyPy's code called may have no table either, and have pushed something: up to `last`, its stack pointer is looked
// for.
enum { HS_PYPY_PUSHED_MAX = 32 * sizeof(uintptr_t) }; // arguments, and frames of helpers
#pragma GCC visibility push(hidden)
#if HS_KNOWN_FRAMES
bool hs_luajit_frame__find(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller);
#else
#define hs_luajit_frame__find(memory, sp, caller) ((void)(memory), (void)(sp), (void)(caller), false)
#endif
#if HS_PYPY_FRAMES
bool hs_pypy_frame__find(struct hs_stack_memory *memory, uintptr_t sp, uintptr_t last, struct hs_registers *caller);
#else
#define hs_pypy_frame__find(memory, sp, last, caller) hs_luajit_frame__find(memory, sp, caller)
#endif
#pragma GCC visibility pop

#endif
