// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rules that do not fit a cache entry, kept by content in an insert-only table.
#ifndef HEAPSONDE_UNWIND_ODD_RULES_H
#define HEAPSONDE_UNWIND_ODD_RULES_H

#include "arch/arch.h"

#include <stdint.h>

// What HS_RULE_ODD means.
enum hs_odd_kind {
    HS_ODD_END = 0,    // the walk ends here; argument: enum hs_end, or HS_ODD_PLANTED
    HS_ODD_FULL = 1,   // needs registers that the fast walk does not track
    HS_ODD_TABLE = 2,  // argument: index into the table
    HS_ODD_SIGNAL = 3, // a signal trampoline; argument: where the ucontext is, from sp
};

// Of HS_ODD_END: the return address is behind no call. The stack starts here, or frame pointers lead on.
#define HS_ODD_PLANTED 0xff

// Whether frame pointers are asked at all: where there is a V8.
#ifdef HS_ARCH_WITHOUT_V8
#define HS_PLANTED_FRAMES 0
#else
#define HS_PLANTED_FRAMES 1
#endif

// Not in memory, of a frame that was interrupted: HS_BASE_LINK: in the link register. HS_BASE_REGISTER: in the register
// whose number is the offset.
enum hs_odd_base { HS_BASE_NONE, HS_BASE_SP, HS_BASE_FP, HS_BASE_CFA, HS_BASE_LINK, HS_BASE_REGISTER };

// A rule over sp, fp and memory.
struct hs_odd_rule {
    int32_t cfa_offset; // CFA = base + offset, or the word there
    int32_t ra_offset;  // address of the return address
    int32_t fp_offset;  // address of the caller's fp
    uint8_t cfa_base;
    uint8_t cfa_deref;
    uint8_t ra_base;
    uint8_t fp_base; // HS_BASE_NONE: fp is unchanged
    uint8_t signal;  // the caller was interrupted, its pc is exact and its stack may be another one
    uint8_t padding[3];
};

#define HS_ODD_RULES 1024

static inline uint32_t hs_rule_odd(enum hs_odd_kind kind, uint32_t argument)
{
    return hs_rule_encode_odd((uint32_t)kind, argument);
}

#pragma GCC visibility push(hidden)
// The 30-bit rule that stands for `odd`. HS_ODD_FULL when the table is full: slower, equally right.
uint32_t hs_odd_rule_intern(const struct hs_odd_rule *odd);

const struct hs_odd_rule *hs_odd_rule_at(uint32_t index);
#pragma GCC visibility pop

#endif
