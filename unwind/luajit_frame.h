// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Machine code that LuaJIT makes has no tables and no frame pointers. It runs on the frame of the interpreter that it
// was entered from, below which it only has room for spilled registers. That frame keeps a pointer to the thread's
// state (lua_State), which says what it is and points back at the frame (its cframe). This is so in all versions with
// references of 64 bits (LJ_GC64, the default on 64-bit machines since 2.1).
#ifndef HEAPSONDE_UNWIND_LUAJIT_FRAME_H
#define HEAPSONDE_UNWIND_LUAJIT_FRAME_H

#include "arch/arch.h"
#include "unwind/capture.h"
#include "unwind/stack_memory.h"

// The return address is the last word of the interpreter's frame, after the caller's frame pointer.
#if defined(__x86_64__) && !defined(HS_ARCH_HEADER) && UINTPTR_MAX == UINT64_MAX
#define HS_LUAJIT_FRAMES 1

#pragma GCC visibility push(hidden)
// Finds who called the interpreter whose machine code has the stack pointer `sp`.
bool hs_luajit_frame__find(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller);
#pragma GCC visibility pop
#endif

#endif
