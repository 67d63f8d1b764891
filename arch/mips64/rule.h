// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DWARF register numbers of MIPS64, and what the cache keys on.
#ifndef HEAPSONDE_ARCH_MIPS64_RULE_H
#define HEAPSONDE_ARCH_MIPS64_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HS_DWARF_SP = 29,
    HS_DWARF_FP = 30,
    HS_DWARF_RA = 31,
    HS_DWARF_PC = 32,
    HS_DWARF_REGISTERS = 33,
};

#define HS_RULE_CFA_UNIT 16
#include "arch/link_rule.h"

#define HS_ARCH_ADDRESS_BITS 48
#define HS_ARCH_KEY_SHIFT    2
// Of loads: 32 KiB from their base.
#define HS_ARCH_SHORT_REACH

// What decodes the code at a return address.
#ifdef __MIPSEB__
#define HS_ARCH_DECODER(pc) (&hs_decoder_mips64)
#else
#define HS_ARCH_DECODER(pc) (&hs_decoder_mips64el)
#endif

// Assemblers write .pdr (unwind/pdr.h).
#define HS_ARCH_HAS_PDR

// All code of a module has the same value in gp: so far behind the start of its table of addresses.
#define HS_ARCH_GLOBAL_POINTER          28
#define HS_ARCH_GLOBAL_POINTER_FROM_GOT 0x7ff0

// Node has no releases for MIPS64.
#define HS_ARCH_WITHOUT_V8

// Into the delay slot of the call.
#define HS_ARCH_CALL_SIZE(pc) 4
// The call itself is before its delay slot.
#define HS_ARCH_RETURN_DISTANCE(pc) 8

static inline void hs_arch_prepare(void)
{
}

static inline uintptr_t hs_arch_strip(uintptr_t pc)
{
    return pc;
}

#endif
