// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DWARF register numbers of the AArch64 psABI, and what the cache keys on.
#ifndef HEAPSONDE_ARCH_AARCH64_RULE_H
#define HEAPSONDE_ARCH_AARCH64_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HS_DWARF_FP = 29,
    HS_DWARF_RA = 30, // the link register
    HS_DWARF_SP = 31,
    HS_DWARF_PC = 32,
    HS_DWARF_REGISTERS = 33,
};

#define HS_RULE_CFA_UNIT 16
#include "arch/link_rule.h"

// User addresses are below 2^48; above, programs that ask for 52 bits get rules that are not cached.
#define HS_ARCH_ADDRESS_BITS 48
#define HS_ARCH_KEY_SHIFT    2
// Of loads: 32 KiB from their base.
#define HS_ARCH_SHORT_REACH

// The frame of lazy binding in glibc is larger than its table says, and the return address is above it. A full step
// goes past both.
#define HS_ARCH_LARGER_FRAMES

// What decodes the code at a return address.
#define HS_ARCH_DECODER(pc) (&hs_decoder_aarch64)

// The instruction that a frame is at is this far before its return address.
#define HS_ARCH_CALL_SIZE(pc) 4

#ifdef HS_ARCH_POINTER_MASK // of another machine
static inline void hs_arch_prepare(void)
{
}

static inline uintptr_t hs_arch_strip(uintptr_t pc)
{
    return pc & HS_ARCH_POINTER_MASK;
}
#else
extern uintptr_t hs_arch_pointer_mask;

// Finds out which bits of a pointer authenticate it. Called before the first step of any walk; any number of times.
static inline void hs_arch_prepare(void)
{
    if (__builtin_expect(hs_arch_pointer_mask != 0, 1))
        return;
    register uintptr_t x30 __asm__("x30") = UINT64_C(0x007fffffffffffff);
    __asm__ volatile("hint #7" : "+r"(x30)); // xpaclri: does nothing on processors without authentication
    hs_arch_pointer_mask = x30;
}

// A return address as it was before it was signed.
static inline uintptr_t hs_arch_strip(uintptr_t pc)
{
    return pc & hs_arch_pointer_mask;
}
#endif

#endif
