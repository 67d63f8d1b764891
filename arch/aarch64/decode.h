// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the parts of the AArch64 decoder share: an instruction word under way, its fields, its effects.
#ifndef HEAPSONDE_ARCH_AARCH64_DECODE_H
#define HEAPSONDE_ARCH_AARCH64_DECODE_H

#include "arch/decode_bits.h"

enum { A64_FP = 29, A64_LR = 30, A64_SP = 31, A64_ZERO = 31 };

struct a64 {
    struct hs_instruction *instruction;
    uint32_t word;
    uintptr_t address;
    uint32_t *context;
};

static inline unsigned bits(const struct a64 *a64, unsigned low, unsigned width)
{
    return hs_bits__field(a64->word, low, width);
}

static inline bool bit(const struct a64 *a64, unsigned number)
{
    return a64->word >> number & 1;
}

static inline unsigned rd(const struct a64 *a64)
{
    return bits(a64, 0, 5);
}

static inline unsigned rn(const struct a64 *a64)
{
    return bits(a64, 5, 5);
}

static inline unsigned rt2(const struct a64 *a64)
{
    return bits(a64, 10, 5);
}

static inline unsigned rm(const struct a64 *a64)
{
    return bits(a64, 16, 5);
}

// A general register is written, where 31 is the zero register.
static inline void clobber(struct a64 *a64, unsigned reg)
{
    if (reg != A64_ZERO)
        hs_effect__add(a64->instruction, HS_EFFECT_CLOBBER, reg, 0, 0, 0);
}

// The same where 31 is sp.
static inline void clobber_or_sp(struct a64 *a64, unsigned reg)
{
    hs_effect__add(a64->instruction, HS_EFFECT_CLOBBER, reg, 0, 0, 0);
}

static inline void set(struct a64 *a64, unsigned reg, int64_t value)
{
    if (reg == A64_ZERO)
        return;
    bool fits = value == (int32_t)value;
    hs_effect__add(a64->instruction, fits ? HS_EFFECT_SET : HS_EFFECT_CLOBBER, reg, 0, 0, fits ? (int32_t)value : 0);
}

static inline void add(struct a64 *a64, unsigned reg, unsigned source, int32_t value)
{
    hs_effect__add(a64->instruction, HS_EFFECT_ADD, reg, source, 0, value);
}

static inline void load_word(struct a64 *a64, unsigned reg, unsigned base, int32_t offset)
{
    if (reg != A64_ZERO)
        hs_effect__add(a64->instruction, HS_EFFECT_LOAD, reg, base, 0, offset);
}

static inline void store_word(struct a64 *a64, unsigned reg, unsigned base, int32_t offset)
{
    if (reg != A64_ZERO)
        hs_effect__add(a64->instruction, HS_EFFECT_STORE, reg, base, 0, offset);
}

// Loads, stores and atomics. False: no such instruction.
__attribute__((visibility("hidden"))) bool hs_aarch64_decode_memory(struct a64 *a64);

#endif
