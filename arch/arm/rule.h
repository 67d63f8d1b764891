// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DWARF register numbers of ARM, and what the cache keys on. Code addresses keep bit 0, which says Thumb.
#ifndef HEAPSONDE_ARCH_ARM_RULE_H
#define HEAPSONDE_ARCH_ARM_RULE_H

#include <stdbool.h>
#include <stdint.h>

// The frame pointer of most code that is walked: that of the kind of code that this build is of. Single sources of
// Thumb code do not count.
#if defined(__thumb__) && !defined(HEAPSONDE_THUMB_SOURCE)
#define HS_ARM_IS_THUMB 1
#endif

enum {
#ifdef HS_ARM_IS_THUMB
    HS_DWARF_FP = 7,
#else
    HS_DWARF_FP = 11,
#endif
    HS_DWARF_SP = 13,
    HS_DWARF_RA = 14,
    HS_DWARF_PC = 15,
    HS_DWARF_REGISTERS = 16,
};

#define HS_RULE_CFA_UNIT 4
#include "arch/link_rule.h"

#define HS_ARCH_ADDRESS_BITS 32
#define HS_ARCH_KEY_SHIFT    0

// Modules may have the tables of unwind/exidx.h.
#define HS_ARCH_HAS_EXIDX 1

// What decodes the code at a return address.
#define HS_ARCH_DECODER(pc) ((pc)&1 ? &hs_decoder_thumb : &hs_decoder_arm)

// Into the call: its last halfword, or in ARM mode its word.
#define HS_ARCH_CALL_SIZE(pc) ((pc)&1 ? 2 : 4)

// Tables know code without the bit that says Thumb.
#define HS_ARCH_CODE_ADDRESS_MASK (~(uintptr_t)1)

// The kernel's helpers for programs (kuser helpers: barrier, compare and exchange, thread pointer), which have no
// frame. Nobody has to be able to read their code.
#define HS_ARCH_IS_LEAF(address) ((address) >= 0xffff0fa0 && (address) < 0xffff1000)

static inline void hs_arch_prepare(void)
{
}

static inline uintptr_t hs_arch_strip(uintptr_t pc)
{
    return pc;
}

#endif
