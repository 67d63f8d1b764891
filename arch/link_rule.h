// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The 30-bit encoding of an unwind rule where calls leave the return address in a register: AArch64, ARM, MIPS64.
//
// A standard frame: the CFA is sp or fp plus a constant, the return address was saved at a constant place in the
// frame, fp is unchanged or was saved at most 15 words below the return address. Compilers differ in where they put
// the pair (gcc for AArch64: at the bottom; clang and all others: at the top), so its place is counted from the base.
//
// The including rule.h defines HS_RULE_CFA_UNIT, in bytes: what the stack pointer of a function is a multiple of.
#ifndef HEAPSONDE_ARCH_LINK_RULE_H
#define HEAPSONDE_ARCH_LINK_RULE_H

#include "arch/word.h"

#include <stdbool.h>
#include <stdint.h>

// The return address of an interrupted frame may be in the link register still.
#define HS_ARCH_LINK_REGISTER 1

enum hs_rule_kind {
    HS_RULE_NONE = 0, // no rule: what an empty cache entry holds
    HS_RULE_STANDARD = 1,
    HS_RULE_GUESSED = 2, // a frame pointer chain that no table vouches for
    HS_RULE_ODD = 3,     // everything else, see unwind/odd_rules.h
};

// bit 0: base is fp | 1: fp is saved | 2-3: kind | 4-7: words that fp's slot is below the return address's |
// 8-18: CFA offset in HS_RULE_CFA_UNIT | 19-29: offset of the return address from the base, in words.
#define HS_RULE_BITS          30
#define HS_RULE_BASE_IS_FP    1u
#define HS_RULE_FP_SAVED      2u
#define HS_RULE_KIND_MASK     (3u << 2)
#define HS_RULE_OF_KIND(kind) ((uint32_t)(kind) << 2)

static inline bool hs_rule_is(uint32_t rule, enum hs_rule_kind kind)
{
    return (rule & HS_RULE_KIND_MASK) == HS_RULE_OF_KIND(kind);
}

static inline uintptr_t hs_rule_cfa_offset(uint32_t rule)
{
    return (uintptr_t)(rule >> 8 & 0x7ff) * HS_RULE_CFA_UNIT;
}

// The address of the return address.
static inline uintptr_t hs_rule_ra_slot(uint32_t rule, uintptr_t base, uintptr_t cfa)
{
    (void)cfa;
    return base + (uintptr_t)(rule >> 19 & 0x7ff) * HS_WORD_SIZE;
}

// In words. 0 where fp is not saved: there is always something to read.
static inline uint32_t hs_rule_fp_below_ra(uint32_t rule)
{
    return rule >> 4 & 15;
}

// Encodes a standard rule. False when a value does not fit. `ra_offset` and `fp_offset` are relative to the CFA;
// fp_offset 0: fp is unchanged.
static inline bool hs_rule_encode(bool base_is_fp, int64_t cfa_offset, int64_t ra_offset, int64_t fp_offset,
                                  uint32_t *rule)
{
    int64_t word = HS_WORD_SIZE, ra = cfa_offset + ra_offset, below = fp_offset ? ra_offset - fp_offset : 0;
    if (cfa_offset < word || cfa_offset % HS_RULE_CFA_UNIT || cfa_offset / HS_RULE_CFA_UNIT > 0x7ff)
        return false;
    if (ra_offset >= 0 || ra < 0 || ra % word || ra / word > 0x7ff)
        return false;
    if (fp_offset > 0 || below < 0 || below % word || below / word > 15 || (fp_offset && !below))
        return false;
    *rule = HS_RULE_OF_KIND(HS_RULE_STANDARD) | (uint32_t)(cfa_offset / HS_RULE_CFA_UNIT) << 8 |
            (uint32_t)(ra / word) << 19 | (uint32_t)(below / word) << 4 | (fp_offset ? HS_RULE_FP_SAVED : 0) |
            (base_is_fp ? HS_RULE_BASE_IS_FP : 0);
    return true;
}

// The chain of {caller's fp, return address} records.
#define HS_RULE_FRAME_POINTER_CHAIN                                                                                    \
    (HS_RULE_OF_KIND(HS_RULE_GUESSED) | (uint32_t)(2 * HS_WORD_SIZE / HS_RULE_CFA_UNIT) << 8 | 1u << 19 | 1u << 4 |    \
     HS_RULE_FP_SAVED | HS_RULE_BASE_IS_FP)

// An odd rule carries 24 bits of argument and 2 bits of sub-kind.
static inline uint32_t hs_rule_encode_odd(uint32_t sub_kind, uint32_t argument)
{
    return HS_RULE_OF_KIND(HS_RULE_ODD) | (argument & 0xffffff) << 4 | (sub_kind & 3);
}

static inline uint32_t hs_rule_odd_sub_kind(uint32_t rule)
{
    return rule & 3;
}

static inline uint32_t hs_rule_odd_argument(uint32_t rule)
{
    return rule >> 4 & 0xffffff;
}

#endif
