// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HS_ARCH_HEADER (arch/arch.h): what unwind/ is compiled with to look at the stacks of another machine. HS_VIEW_* says
// of which. Nothing here runs on that machine: what asks the processor or the kernel is left out.
#ifndef HEAPSONDE_HOST_UNWIND_VIEW_ARCH_H
#define HEAPSONDE_HOST_UNWIND_VIEW_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef HS_VIEW_ARM
#define HS_WORD_SIZE 4u
#else
#define HS_WORD_SIZE 8u
#endif

#ifdef HS_VIEW_MIPS64
#define HS_VIEW_BIG_ENDIAN true
#define __MIPSEB__         1
#else
#define HS_VIEW_BIG_ENDIAN false
#endif
#define HS_WORDS_SWAPPED (HS_VIEW_BIG_ENDIAN != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
#define HS_WORDS_FOREIGN (HS_WORD_SIZE != sizeof(uintptr_t) || HS_WORDS_SWAPPED)
#define HS_WORDS_LINKED  true

// What authenticates a pointer is above the addresses that programs have unless they ask for more.
#define HS_ARCH_POINTER_MASK UINT64_C(0x0000ffffffffffff)

#if defined(HS_VIEW_AMD64)
#include "arch/amd64/kernel.h"
#include "arch/amd64/rule.h"
#include "arch/amd64/signal_frame.h"
#include "arch/amd64/start_code.h"
#elif defined(HS_VIEW_AARCH64)
#include "arch/aarch64/kernel.h"
#include "arch/aarch64/other_stack.h"
#include "arch/aarch64/rule.h"
#include "arch/aarch64/signal_frame.h"
#include "arch/aarch64/start_code.h"
#elif defined(HS_VIEW_ARM)
#define __thumb__ 1 // the frame pointer of guesses is that of Thumb code
#include "arch/arm/kernel.h"
#include "arch/arm/other_stack.h"
#include "arch/arm/rule.h"
#include "arch/arm/signal_frame.h"
#include "arch/arm/start_code.h"
#else
#include "arch/mips64/kernel.h"
#include "arch/mips64/other_stack.h"
#include "arch/mips64/rule.h"
#include "arch/mips64/signal_frame.h"
#include "arch/mips64/start_code.h"
#endif

struct hs_registers {
    uintptr_t pc, sp, fp;
};

struct hs_all_registers {
    uintptr_t values[HS_DWARF_REGISTERS];
};

// There is no own stack to walk.
static inline void hs_capture_here(struct hs_registers *registers)
{
    *registers = (struct hs_registers){0};
}

static inline void hs_capture_all(struct hs_all_registers *registers)
{
    *registers = (struct hs_all_registers){0};
}

// The only system calls that are left: memory (host/unwind/offline.c).
long hs_view_system(long number, long first, long second);

static inline long hs_arch_syscall(long number, unsigned count, long first, long second, long third, long fourth,
                                   long fifth, long sixth)
{
    (void)count, (void)third, (void)fourth, (void)fifth, (void)sixth;
    return hs_view_system(number, first, second);
}

#endif
