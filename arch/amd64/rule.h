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
    HS_DWARF_PC = 16,
    HS_DWARF_REGISTERS = 17, // rax rdx rcx rbx rsi rdi rbp rsp r8..r15 and the return address
};

// Bytes that a call pushes: the return address of a standard frame lies this far below the CFA.
#define HS_RULE_RA_BELOW_CFA 8

// User addresses are below 2^47.
#define HS_ARCH_ADDRESS_BITS 47
#define HS_ARCH_KEY_SHIFT    0

// The instruction that a frame is at ends this far before its return address, or earlier.
#define HS_ARCH_CALL_SIZE(pc) 1

static inline void hs_arch_prepare(void)
{
}

static inline uintptr_t hs_arch_strip(uintptr_t pc)
{
    return pc;
}

// What decodes the code at a return address.
#define HS_ARCH_DECODER(pc) (&hs_decoder_amd64)

enum hs_rule_kind {
    HS_RULE_NONE = 0, // no rule: what an empty cache entry holds
    HS_RULE_STANDARD = 1,
    HS_RULE_GUESSED = 2, // a frame pointer chain that no table vouches for
    HS_RULE_ODD = 3,     // everything else, see unwind/odd_rules.h
};

// bit 0: base is rbp | 1: rbp is saved | 2: low bit of the kind | 3-16: CFA offset / 8 | 17-28: rbp's slot / 8 below
// the return address | 29: high bit of the kind. The CFA offset is one AND away: it is on the critical path of a walk.
#define HS_RULE_BITS          30
#define HS_RULE_BASE_IS_FP    1u
#define HS_RULE_FP_SAVED      2u
#define HS_RULE_KIND_MASK     (1u << 29 | 1u << 2)
#define HS_RULE_OF_KIND(kind) (((uint32_t)(kind) >> 1) << 29 | ((uint32_t)(kind)&1) << 2)

static inline bool hs_rule_is(uint32_t rule, enum hs_rule_kind kind)
{
    return (rule & HS_RULE_KIND_MASK) == HS_RULE_OF_KIND(kind);
}

static inline uintptr_t hs_rule_cfa_offset(uint32_t rule)
{
    return rule & 0x1fff8;
}

// The address of the return address.
static inline uintptr_t hs_rule_ra_slot(uint32_t rule, uintptr_t base, uintptr_t cfa)
{
    (void)rule;
    (void)base;
    return cfa - HS_RULE_RA_BELOW_CFA;
}

// In words of 8 bytes. 0 where rbp is not saved: there is always something to read.
static inline uint32_t hs_rule_fp_below_ra(uint32_t rule)
{
    return rule >> 17 & 0xfff;
}

// Encodes a standard rule. False when a value does not fit. `ra_offset` and `fp_offset` are relative to the CFA;
// fp_offset 0: rbp is unchanged.
static inline bool hs_rule_encode(bool base_is_fp, int64_t cfa_offset, int64_t ra_offset, int64_t fp_offset,
                                  uint32_t *rule)
{
    if (ra_offset != -HS_RULE_RA_BELOW_CFA || fp_offset == -HS_RULE_RA_BELOW_CFA)
        return false;
    if (cfa_offset < 8 || cfa_offset >= 1 << 17 || cfa_offset & 7)
        return false;
    if (fp_offset > 0 || fp_offset <= -(1 << 15) || fp_offset & 7)
        return false;
    *rule = HS_RULE_OF_KIND(HS_RULE_STANDARD) | (uint32_t)cfa_offset |
            (uint32_t)(fp_offset ? (-fp_offset >> 3) - 1 : 0) << 17 | (fp_offset ? HS_RULE_FP_SAVED : 0) |
            (base_is_fp ? HS_RULE_BASE_IS_FP : 0);
    return true;
}

// The chain of `push %rbp; mov %rsp,%rbp` frames.
#define HS_RULE_FRAME_POINTER_CHAIN                                                                                    \
    (HS_RULE_OF_KIND(HS_RULE_GUESSED) | 16u | 1u << 17 | HS_RULE_FP_SAVED | HS_RULE_BASE_IS_FP)

// An odd rule carries 24 bits of argument and 2 bits of sub-kind.
static inline uint32_t hs_rule_encode_odd(uint32_t sub_kind, uint32_t argument)
{
    return HS_RULE_OF_KIND(HS_RULE_ODD) | (argument & 0xffffff) << 3 | (sub_kind & 3);
}

static inline uint32_t hs_rule_odd_sub_kind(uint32_t rule)
{
    return rule & 3;
}

static inline uint32_t hs_rule_odd_argument(uint32_t rule)
{
    return rule >> 3 & 0xffffff;
}

#endif
