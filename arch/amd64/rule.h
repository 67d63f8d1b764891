// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The 30-bit encoding of an unwind rule, and the DWARF register numbers of the psABI (figure 3.36).
//
// A standard frame: the CFA is rsp or rbp plus a multiple of 8 below 128 KiB, the return address is at CFA-8, the
// caller's rsp is the CFA, and rbp is unchanged or saved at most 32 KiB below the CFA. That is 99.57-99.998 % of the
// rows of real libraries; everything else is HS_RULE_ODD.
#ifndef HEAPSONDE_ARCH_AMD64_RULE_H
#define HEAPSONDE_ARCH_AMD64_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HS_DWARF_FP = 6,
    HS_DWARF_SP = 7,
    HS_DWARF_RA = 16,
    HS_DWARF_REGISTERS = 17, // rax rdx rcx rbx rsi rdi rbp rsp r8..r15 and the return address
};

// Bytes that a call pushes: the return address of a standard frame lies this far below the CFA.
#define HS_RULE_RA_BELOW_CFA 8

// User addresses are below 2^47.
#define HS_ARCH_ADDRESS_BITS 47

enum hs_rule_kind {
    HS_RULE_NONE = 0, // no rule: what an empty cache entry holds
    HS_RULE_STANDARD = 1,
    HS_RULE_GUESSED = 2, // a frame pointer chain that no table vouches for
    HS_RULE_ODD = 3,     // bits 0-3: enum hs_odd_kind, bits 4-27: its argument
};

// bit 0: base is rbp | 1: rbp is saved | 2-13: rbp's slot / 8 below the CFA | 14-27: CFA offset / 8 | 28-29: kind
#define HS_RULE_BITS       30
#define HS_RULE_BASE_IS_FP 1u
#define HS_RULE_FP_SAVED   2u

static inline enum hs_rule_kind hs_rule_kind(uint32_t rule)
{
    return (enum hs_rule_kind)(rule >> 28);
}

static inline uintptr_t hs_rule_cfa_offset(uint32_t rule)
{
    return (uintptr_t)(rule >> 14 & 0x3fff) << 3;
}

static inline uintptr_t hs_rule_fp_below_cfa(uint32_t rule)
{
    return (uintptr_t)(rule >> 2 & 0xfff) << 3;
}

// Encodes a standard rule. False when a value does not fit. `fp_offset` is relative to the CFA, 0: rbp is unchanged.
static inline bool hs_rule_encode(bool base_is_fp, int64_t cfa_offset, int64_t fp_offset, uint32_t *rule)
{
    if (cfa_offset < 8 || cfa_offset >= 1 << 17 || cfa_offset & 7)
        return false;
    if (fp_offset > 0 || fp_offset <= -(1 << 15) || fp_offset & 7)
        return false;
    *rule = (uint32_t)HS_RULE_STANDARD << 28 | (uint32_t)(cfa_offset >> 3) << 14 | (uint32_t)(-fp_offset >> 3) << 2 |
            (fp_offset ? HS_RULE_FP_SAVED : 0) | (base_is_fp ? HS_RULE_BASE_IS_FP : 0);
    return true;
}

// The chain of `push %rbp; mov %rsp,%rbp` frames.
#define HS_RULE_FRAME_POINTER_CHAIN                                                                                    \
    ((uint32_t)HS_RULE_GUESSED << 28 | 2u << 14 | 2u << 2 | HS_RULE_FP_SAVED | HS_RULE_BASE_IS_FP)

#endif
