// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What decoders share: reading bytes of either order, cutting fields, and writing down effects.
#ifndef HEAPSONDE_ARCH_DECODE_BITS_H
#define HEAPSONDE_ARCH_DECODE_BITS_H

#include "arch/decoder.h"

static inline uint32_t hs_bits__little16(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t hs_bits__little32(const uint8_t *bytes)
{
    return hs_bits__little16(bytes) | hs_bits__little16(bytes + 2) << 16;
}

static inline uint32_t hs_bits__big32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// The `width` bits of `word` from bit `low` on.
static inline uint32_t hs_bits__field(uint32_t word, unsigned low, unsigned width)
{
    return word >> low & ((1u << width) - 1);
}

// The same as a number in two's complement.
static inline int32_t hs_bits__signed(uint32_t word, unsigned low, unsigned width)
{
    return (int32_t)(word << (32 - low - width)) >> (32 - width);
}

static inline void hs_effect__add(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg,
                                  unsigned source, unsigned other, int32_t value)
{
    if (instruction->count < HS_EFFECTS_MAX)
        instruction->effects[instruction->count++] =
            (struct hs_effect){(uint8_t)kind, (uint8_t)reg, (uint8_t)source, (uint8_t)other, value};
}

static inline void hs_instruction__compare(struct hs_instruction *instruction, unsigned reg, unsigned with)
{
    instruction->compares = true;
    instruction->compared = (uint8_t)reg;
    instruction->compared_with = (uint8_t)with;
}

// Everything but the effects, which `count` says to be absent.
static inline void hs_instruction__clear(struct hs_instruction *instruction, unsigned size)
{
    instruction->size = (uint8_t)size;
    instruction->flow = HS_FLOW_NEXT;
    instruction->conditional = false;
    instruction->delay_slot = false;
    instruction->likely = false;
    instruction->compares = false;
    instruction->unless_equal = false;
    instruction->count = 0;
    instruction->target = 0;
    instruction->data_size = 0;
    instruction->case_count = 0;
}

#endif
