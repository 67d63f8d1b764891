// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arch/arm/decoder_shared.h"

static void effect(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg, unsigned source,
                   unsigned other, int32_t value)
{
    if (reg == HS_ARM_PC)
        return;
    if (source != HS_ARM_PC && other != HS_ARM_PC)
        hs_effect__add(instruction, kind, reg, source, other, value);
    else if (kind != HS_EFFECT_STORE)
        hs_effect__add(instruction, HS_EFFECT_CLOBBER, reg, 0, 0, 0);
}

void hs_arm_effect(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg, unsigned source,
                   int32_t value)
{
    effect(instruction, kind, reg, source, 0, value);
}

void hs_arm_effect_register(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg, unsigned source,
                            unsigned other)
{
    effect(instruction, kind, reg, source, other, 0);
}

void hs_arm_clobber(struct hs_instruction *instruction, unsigned reg)
{
    effect(instruction, HS_EFFECT_CLOBBER, reg, 0, 0, 0);
}

void hs_arm_shift_left(struct hs_instruction *instruction, unsigned reg, unsigned source, unsigned count)
{
    effect(instruction, count ? HS_EFFECT_SHIFT_LEFT : HS_EFFECT_ADD, reg, source, 0, (int32_t)count);
}

void hs_arm_add_to_pc(struct hs_instruction *instruction, unsigned reg, unsigned source, uintptr_t pc)
{
    effect(instruction, HS_EFFECT_ADD, reg, source, 0, (int32_t)(uint32_t)pc);
}

void hs_arm_set_from_pc(struct hs_instruction *instruction, unsigned reg, uintptr_t address)
{
    effect(instruction, HS_EFFECT_SET, reg, 0, 0, (int32_t)(uint32_t)address);
}

void hs_arm_jump_to_register(struct hs_instruction *instruction, unsigned reg)
{
    instruction->flow = reg == HS_ARM_LR ? HS_FLOW_RETURN : HS_FLOW_INDIRECT;
    if (reg == HS_ARM_IP) // only what calls pass on their way goes through it, and nobody relies on it after that
        hs_arm_clobber(instruction, HS_ARM_IP);
}

static void load_or_store(struct hs_instruction *instruction, unsigned reg, unsigned base, int32_t offset, unsigned how)
{
    hs_arm_effect(instruction, how & HS_ARM_LOAD ? HS_EFFECT_LOAD : HS_EFFECT_STORE, reg, base, offset);
    if (how & HS_ARM_LOAD && reg == HS_ARM_PC)
        instruction->flow = base == HS_ARM_SP ? HS_FLOW_RETURN : HS_FLOW_INDIRECT;
}

static int32_t signed_offset(uint32_t offset, unsigned how)
{
    return how & HS_ARM_UP ? (int32_t)offset : -(int32_t)offset;
}

static void write_back(struct hs_instruction *instruction, unsigned base, int32_t offset, unsigned how)
{
    if (how & HS_ARM_WRITEBACK)
        hs_arm_effect(instruction, HS_EFFECT_ADD, base, base, offset);
}

void hs_arm_transfer(struct hs_instruction *instruction, unsigned reg, unsigned base, uint32_t offset, unsigned how)
{
    int32_t value = signed_offset(offset, how);
    load_or_store(instruction, reg, base, how & HS_ARM_BEFORE ? value : 0, how);
    write_back(instruction, base, value, how);
}

void hs_arm_transfer_two(struct hs_instruction *instruction, unsigned first, unsigned second, unsigned base,
                         uint32_t offset, unsigned how)
{
    enum hs_effect_kind kind = how & HS_ARM_LOAD ? HS_EFFECT_LOAD : HS_EFFECT_STORE;
    int32_t value = signed_offset(offset, how), at = how & HS_ARM_BEFORE ? value : 0;
    bool second_first = how & HS_ARM_LOAD && first == base; // the base is needed until the last load
    hs_arm_effect(instruction, kind, second_first ? second : first, base, second_first ? at + 4 : at);
    hs_arm_effect(instruction, kind, second_first ? first : second, base, second_first ? at : at + 4);
    write_back(instruction, base, value, how);
}

void hs_arm_transfer_part(struct hs_instruction *instruction, unsigned reg, unsigned base, uint32_t offset,
                          unsigned how)
{
    if (how & HS_ARM_LOAD)
        hs_arm_clobber(instruction, reg);
    write_back(instruction, base, signed_offset(offset, how), how);
}

void hs_arm_transfer_indexed(struct hs_instruction *instruction, unsigned reg, unsigned base, unsigned size,
                             unsigned how)
{
    unsigned load = how & HS_ARM_LOAD, second = (reg + 1) & 15;
    if (size == 8 && !(how & HS_ARM_BEFORE))
        hs_arm_transfer_two(instruction, reg, second, base, 0, load);
    else if (size == 4 && !(how & HS_ARM_BEFORE))
        hs_arm_transfer(instruction, reg, base, 0, load);
    else if (load)
        hs_arm_clobber(instruction, reg);
    if (size == 8 && how & HS_ARM_BEFORE && load)
        hs_arm_clobber(instruction, second);
    if (size == 4 && how & HS_ARM_BEFORE && load && reg == HS_ARM_PC)
        instruction->flow = HS_FLOW_INDIRECT;
    if (how & HS_ARM_WRITEBACK)
        hs_arm_clobber(instruction, base);
}

static unsigned count_bits(uint32_t list)
{
    unsigned count = 0;
    for (; list; list &= list - 1)
        count++;
    return count;
}

bool hs_arm_transfer_list(struct hs_instruction *instruction, unsigned base, uint32_t list, unsigned how)
{
    int32_t bytes = (int32_t)count_bits(list) * 4, at = how & HS_ARM_UP ? 0 : -bytes, base_at = 0;
    bool loads_base = how & HS_ARM_LOAD && list >> base & 1;
    if (!list)
        return false;
    if (!(how & HS_ARM_UP) == !(how & HS_ARM_BEFORE))
        at += 4;
    for (unsigned reg = 0; reg < HS_ARM_REGISTERS; reg++) {
        if (!(list >> reg & 1))
            continue;
        if (loads_base && reg == base)
            base_at = at;
        else
            load_or_store(instruction, reg, base, at, how);
        at += 4;
    }
    if (loads_base)
        load_or_store(instruction, base, base, base_at, how);
    else
        write_back(instruction, base, how & HS_ARM_UP ? bytes : -bytes, how);
    if (how & HS_ARM_LOAD && list >> HS_ARM_PC)
        instruction->flow = HS_FLOW_RETURN;
    return true;
}

void hs_arm_refer(struct hs_instruction *instruction, const struct hs_arm_code *code, int32_t offset, unsigned size)
{
    instruction->data = code->pc + (uintptr_t)(intptr_t)offset;
    instruction->data_size = (uint16_t)size;
}

void hs_arm_literal(struct hs_instruction *instruction, unsigned reg, const struct hs_arm_code *code, int32_t offset)
{
    int64_t from_code = (int64_t)(code->pc - code->address) + offset;
    hs_arm_refer(instruction, code, offset, 4);
    if (reg == HS_ARM_PC)
        instruction->flow = HS_FLOW_INDIRECT;
    else if (from_code >= 0 && code->length >= 4 && (uint64_t)from_code <= code->length - 4)
        hs_arm_effect(instruction, HS_EFFECT_SET, reg, 0, (int32_t)hs_bits__little32(code->bytes + from_code));
    else
        hs_arm_clobber(instruction, reg);
}

uint32_t hs_arm_keep_comparison(const struct hs_instruction *instruction, uint32_t context)
{
    unsigned reg = hs_bits__field(context, 8, 4);
    if (!(context >> 12) || instruction->flow == HS_FLOW_CALL)
        return 0;
    for (unsigned i = 0; i < instruction->count; i++)
        if (instruction->effects[i].reg == reg && instruction->effects[i].kind != HS_EFFECT_STORE)
            return 0;
    return context & ~HS_ARM_CONTEXT_OWN;
}

bool hs_arm_is_arm(const uint8_t *code, size_t length)
{
    size_t unconditional = 0, words = length / 4;
    for (size_t i = 0; i < words; i++)
        unconditional += code[4 * i + 3] >> 4 == 14;
    return unconditional * 20 >=
           words * 9; // of ARM code rarely less than half are, of Thumb code rarely more than a third
}

// How much a word looks like an instruction of ARM code, by its upper byte: as code of the GNU C library has it.
static int looks_like_arm(unsigned upper)
{
    enum { ALWAYS = 6, WIDE = 1, NEVER = -1, RARE = -3, HARDLY = -6 };
    if (upper >> 4 == 14)
        return upper & 8 ? WIDE : ALWAYS;
    if (upper >> 4 == 15)
        return NEVER;
    bool common = upper >> 4 < 4 || upper >> 4 == 8 || upper >> 4 == 9 || upper >> 4 == 10 || upper >> 4 == 12;
    return common ? RARE : HARDLY;
}

// Up to words of zeros, which are padding between functions.
bool hs_arm_is_arm_at(const uint8_t *start, const uint8_t *at, const uint8_t *end)
{
    enum { WORD = 4, AROUND = 32 * WORD, BX_PC = 0x4778 };
    const uint8_t *word = at;
    int sum = 0;
    if (end - at >= WORD && hs_bits__little16(at) == BX_PC)
        return false;
    for (; end - word >= WORD && word - at <= AROUND && (word == at || hs_bits__little32(word)); word += WORD)
        sum += looks_like_arm(word[3]);
    for (word = at; word - start >= WORD && at - word < AROUND && hs_bits__little32(word - WORD); word -= WORD)
        sum += looks_like_arm(word[-1]);
    return sum >= 0;
}

static void coprocessor_transfer(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    unsigned how = word & 1u << 23 ? HS_ARM_UP : 0;
    int32_t offset = signed_offset((word & 0xff) * 4, how);
    if ((word & 0x0fe00000) == 0x0c400000) { // two core registers
        if (word & 1u << 20) {
            hs_arm_clobber(instruction, hs_bits__field(word, 12, 4));
            hs_arm_clobber(instruction, hs_bits__field(word, 16, 4));
        }
        return;
    }
    if (word & 1u << 21)
        hs_arm_effect(instruction, HS_EFFECT_ADD, hs_bits__field(word, 16, 4), hs_bits__field(word, 16, 4), offset);
    else if ((word & 0x011f0000) == 0x011f0000) // vldr of a literal, of 4 or 8 bytes
        hs_arm_refer(instruction, code, offset, (word & 0xf00) == 0xb00 ? 8 : 4);
}

void hs_arm_coprocessor(struct hs_instruction *instruction, uint32_t word, const struct hs_arm_code *code)
{
    unsigned number = hs_bits__field(word, 8, 4);
    if ((word & 0x0f000000) == 0x0f000000 || (word >> 28 == 15 && number >= 8 && number <= 13))
        return; // vectors only
    if ((word & 0x0e000000) == 0x0c000000)
        coprocessor_transfer(instruction, word, code);
    else if (word & 1u << 4 && word & 1u << 20)
        hs_arm_clobber(instruction, hs_bits__field(word, 12, 4));
}

void hs_arm_vector_transfer(struct hs_instruction *instruction, uint32_t word)
{
    if ((word & 15) != 15)
        hs_arm_clobber(instruction, hs_bits__field(word, 16, 4));
}
