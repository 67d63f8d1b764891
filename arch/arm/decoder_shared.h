// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the decoders of ARM and Thumb code share: effects, transfers of one and of many registers, coprocessors.
#ifndef HEAPSONDE_ARCH_ARM_DECODER_SHARED_H
#define HEAPSONDE_ARCH_ARM_DECODER_SHARED_H

#include "arch/decode_bits.h"

enum { HS_ARM_IP = 12, HS_ARM_SP = 13, HS_ARM_LR = 14, HS_ARM_PC = 15, HS_ARM_REGISTERS = 16 };

#define HS_ARM_CALLEE_SAVED 0x2ff0u // r4-r11, sp

// How a transfer finds its address and leaves its base.
enum {
    HS_ARM_LOAD = 1,
    HS_ARM_UP = 2,        // the offset is added
    HS_ARM_BEFORE = 4,    // the offset applies before the transfer
    HS_ARM_WRITEBACK = 8, // the base becomes the address with the offset
};

static inline uint32_t hs_arm_rotate_right(uint32_t value, unsigned count)
{
    return count ? value >> count | value << (32 - count) : value;
}

// A part of the context: `cmp reg, #constant` has been seen, and reg has kept its value since. The lower 8 bits are the
// instruction set's own.
#define HS_ARM_CONTEXT_OWN 0xffu
static inline uint32_t hs_arm_compared(unsigned reg, uint32_t constant)
{
    return constant < 0xffff ? reg << 8 | (constant + 1) << 12 : 0;
}

// How many values `reg` may have after it was found not to be above the constant; 0: not known.
static inline unsigned hs_arm_value_count(uint32_t context, unsigned reg)
{
    return hs_bits__field(context, 8, 4) == reg ? context >> 12 : 0;
}

#pragma GCC visibility push(hidden)
// What of the comparison in `context` still holds after the instruction.
uint32_t hs_arm_keep_comparison(const struct hs_instruction *instruction, uint32_t context);

// Adds an effect. Nothing is said about pc as a destination (that is flow), and what is computed from pc is unknown.
void hs_arm_effect(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg, unsigned source,
                   int32_t value);
void hs_arm_effect_register(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg, unsigned source,
                            unsigned other);
void hs_arm_clobber(struct hs_instruction *instruction, unsigned reg);

// reg := source << count; a copy when count is 0.
void hs_arm_shift_left(struct hs_instruction *instruction, unsigned reg, unsigned source, unsigned count);

// reg := source + pc, or pc + constant.
void hs_arm_add_to_pc(struct hs_instruction *instruction, unsigned reg, unsigned source, uintptr_t pc);
void hs_arm_set_from_pc(struct hs_instruction *instruction, unsigned reg, uintptr_t address);

// pc := reg, through whatever instruction.
void hs_arm_jump_to_register(struct hs_instruction *instruction, unsigned reg);

// One register, or two that lie next to each other in memory, to or from [base +- offset].
void hs_arm_transfer(struct hs_instruction *instruction, unsigned reg, unsigned base, uint32_t offset, unsigned how);
void hs_arm_transfer_two(struct hs_instruction *instruction, unsigned first, unsigned second, unsigned base,
                         uint32_t offset, unsigned how);

// The same where memory holds less than a register.
void hs_arm_transfer_part(struct hs_instruction *instruction, unsigned reg, unsigned base, uint32_t offset,
                          unsigned how);

// The same where the offset is in a register; `size` is what memory holds, in bytes: less than 4 tells nothing.
void hs_arm_transfer_indexed(struct hs_instruction *instruction, unsigned reg, unsigned base, unsigned size,
                             unsigned how);

// ldm and stm. False for an empty list.
bool hs_arm_transfer_list(struct hs_instruction *instruction, unsigned base, uint32_t list, unsigned how);

// An instruction, the bytes that can be read from it on, and what pc is when it is executed.
struct hs_arm_code {
    const uint8_t *bytes;
    size_t length;
    uintptr_t address, pc;
};

// reg := the word at pc + offset, if that can be read.
void hs_arm_literal(struct hs_instruction *instruction, unsigned reg, const struct hs_arm_code *code, int32_t offset);

// The instruction refers to `size` bytes at pc + offset.
void hs_arm_refer(struct hs_instruction *instruction, const struct hs_arm_code *code, int32_t offset, unsigned size);

// Whether code is ARM's rather than Thumb's: most ARM instructions are unconditional.
bool hs_arm_is_arm(const uint8_t *code, size_t length);

// The same for the one place `at`, a multiple of 4, with the code around it.
bool hs_arm_is_arm_at(const uint8_t *start, const uint8_t *at, const uint8_t *end);

// The coprocessor space, VFP among it; Thumb has it in the same 28 bits.
void hs_arm_coprocessor(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code);

// NEON loads and stores of elements and structures.
void hs_arm_vector_transfer(struct hs_instruction *instruction, uint32_t word);
#pragma GCC visibility pop

#endif
