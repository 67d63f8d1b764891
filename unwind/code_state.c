// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/code_state.h"

#include "unwind/code.h"

bool hs_code__decode(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t address, uint32_t *context,
                     struct hs_instruction *instruction)
{
    const size_t offset = address - code->address;
    return offset < code->size &&
           decoder->decode(code->bytes + offset, code->size - offset, address, context, instruction) &&
           instruction->size;
}

bool hs_code_state__matters(const struct hs_decoder *decoder, unsigned number)
{
    return number == decoder->ra || decoder->callee_saved & hs_register_bit(number) ||
           (decoder->ra_of_stubs && number == decoder->ra_of_stubs);
}

void hs_code_state__at_entry(const struct hs_decoder *decoder, struct hs_code_state *state)
{
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++) {
        state->registers[i] = (struct hs_code_value){(int32_t)i, HS_VALUE_ENTRY};
        state->slots[i] = 0;
    }
    state->registers[decoder->sp] = (struct hs_code_value){decoder->entry_sp_from_cfa, HS_VALUE_CFA};
    state->saved = 0;
    state->context = 0;
    if (HS_DECODERS_ALIGN) {
        state->aligned = 0;
        state->cfa_slot = 0;
        state->was_aligned = false;
    }
}

static struct hs_code_value sum(struct hs_code_value a, int32_t number)
{
    if (a.kind == HS_VALUE_ENTRY)
        return number ? hs_value_unknown() : a;
    int32_t result;
    if (a.kind == HS_VALUE_UNKNOWN || __builtin_add_overflow(a.number, number, &result))
        return hs_value_unknown();
    return (struct hs_code_value){result, a.kind};
}

static struct hs_code_value sum_of_values(struct hs_code_value a, struct hs_code_value b)
{
    if (b.kind == HS_VALUE_CONSTANT)
        return sum(a, b.number);
    return a.kind == HS_VALUE_CONSTANT ? sum(b, a.number) : hs_value_unknown();
}

static struct hs_code_value difference(struct hs_code_value a, struct hs_code_value b)
{
    if (b.kind != HS_VALUE_CONSTANT || b.number == INT32_MIN)
        return hs_value_unknown();
    return sum(a, -b.number);
}

static struct hs_code_value computed(const struct hs_code_state *state, const struct hs_effect *effect)
{
    struct hs_code_value source = state->registers[effect->source];
    switch ((enum hs_effect_kind)effect->kind) {
    case HS_EFFECT_SET:
        return (struct hs_code_value){effect->value, HS_VALUE_CONSTANT};
    case HS_EFFECT_ADD:
        return sum(source, effect->value);
    case HS_EFFECT_ADD_REGISTER:
        return sum_of_values(source, state->registers[effect->other]);
    case HS_EFFECT_SUB_REGISTER:
        return difference(source, state->registers[effect->other]);
    case HS_EFFECT_OR:
        if (source.kind == HS_VALUE_CONSTANT)
            return (struct hs_code_value){source.number | effect->value, HS_VALUE_CONSTANT};
        return hs_value_unknown();
    case HS_EFFECT_SHIFT_LEFT:
        if (source.kind == HS_VALUE_CONSTANT && effect->value >= 0 && effect->value < 32)
            return (struct hs_code_value){(int32_t)((uint32_t)source.number << effect->value), HS_VALUE_CONSTANT};
        return hs_value_unknown();
    default:
        return hs_value_unknown();
    }
}

static bool is_aligned(struct hs_code_value value)
{
    return HS_DECODERS_ALIGN && value.kind == HS_VALUE_ALIGNED;
}

// A register that is aligned again becomes unknown.
static void align(struct hs_code_state *state, unsigned reg)
{
    struct hs_code_value aligned = {0, HS_VALUE_ALIGNED};
    state->registers[reg] = state->was_aligned ? hs_value_unknown() : aligned;
    state->was_aligned = true;
}

static void store(const struct hs_decoder *decoder, struct hs_code_state *state, const struct hs_effect *effect)
{
    struct hs_code_value base = state->registers[effect->source], stored = state->registers[effect->reg];
    int32_t slot;
    bool is_cfa = is_aligned(base) && stored.kind == HS_VALUE_CFA && !stored.number;
    if ((base.kind != HS_VALUE_CFA && !is_aligned(base)) || (stored.kind != HS_VALUE_ENTRY && !is_cfa) ||
        __builtin_add_overflow(base.number, effect->value, &slot))
        return;
    if (is_cfa) {
        state->cfa_slot = state->cfa_slot ? state->cfa_slot : slot;
        return;
    }
    unsigned number = (unsigned)stored.number;
    bool in_frame = slot < 0; // what is above is the caller's
    if (!in_frame || !hs_code_state__matters(decoder, number) || state->saved & hs_register_bit(number))
        return;
    state->saved |= hs_register_bit(number);
    state->slots[number] = slot;
    if (is_aligned(base))
        state->aligned |= hs_register_bit(number);
}

// The return address for a stub's caller is in another register.
static struct hs_code_value loaded(const struct hs_decoder *decoder, const struct hs_code_state *state,
                                   const struct hs_effect *effect)
{
    struct hs_code_value base = state->registers[effect->source];
    unsigned number = effect->reg, stored = number;
    if (decoder->ra_of_stubs && number == decoder->ra && !(state->saved & hs_register_bit(number)))
        stored = decoder->ra_of_stubs;
    if (base.kind == hs_code_state__slot_base(state, stored) && state->saved & hs_register_bit(stored) &&
        (int64_t)base.number + effect->value == state->slots[stored])
        return (struct hs_code_value){(int32_t)number, HS_VALUE_ENTRY};
    if (is_aligned(base) && state->cfa_slot && (int64_t)base.number + effect->value == state->cfa_slot)
        return (struct hs_code_value){0, HS_VALUE_CFA};
    return hs_value_unknown();
}

bool hs_code_state__has_registers(const struct hs_effect *effect)
{
    return effect->reg < HS_DECODER_REGISTERS && effect->source < HS_DECODER_REGISTERS &&
           effect->other < HS_DECODER_REGISTERS;
}

void hs_code_state__apply(const struct hs_decoder *decoder, struct hs_code_state *state, const struct hs_effect *effect)
{
    if (effect->kind == HS_EFFECT_STORE)
        store(decoder, state, effect);
    else if (effect->kind == HS_EFFECT_LOAD)
        state->registers[effect->reg] = loaded(decoder, state, effect);
    else if (HS_DECODERS_ALIGN && effect->kind == HS_EFFECT_ALIGN)
        align(state, effect->reg);
    else
        state->registers[effect->reg] = computed(state, effect);
}

void hs_code_state__apply_conditional(const struct hs_decoder *decoder, struct hs_code_state *state,
                                      const struct hs_effect *effect)
{
    if (effect->kind != HS_EFFECT_STORE && effect->reg != decoder->sp)
        state->registers[effect->reg] = hs_value_unknown();
}

bool hs_code_state__leaves(const struct hs_instruction *instruction)
{
    return instruction->flow == HS_FLOW_RETURN || instruction->flow == HS_FLOW_INDIRECT ||
           instruction->flow == HS_FLOW_STOP;
}

void hs_code_state__run(const struct hs_decoder *decoder, struct hs_code_state *state,
                        const struct hs_instruction *instruction)
{
    if (instruction->conditional && hs_code_state__leaves(instruction))
        return; // where the path goes on, it has not been executed
    for (unsigned i = 0; i < instruction->count && i < HS_EFFECTS_MAX; i++) {
        const struct hs_effect *effect = &instruction->effects[i];
        if (!hs_code_state__has_registers(effect))
            continue;
        if (instruction->conditional)
            hs_code_state__apply_conditional(decoder, state, effect);
        else
            hs_code_state__apply(decoder, state, effect);
    }
}

void hs_code_state__call(const struct hs_decoder *decoder, struct hs_code_state *state)
{
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++)
        if (i != decoder->sp && !(decoder->callee_saved & hs_register_bit(i)))
            state->registers[i] = hs_value_unknown();
}
