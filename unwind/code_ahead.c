// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/code_ahead.h"

#include "unwind/code_state.h"

// The code from the frame's pc to the function's return. Nothing is known of what ran before the pc.
struct ahead {
    struct hs_code_state state; // HS_VALUE_CFA: relative to the current stack pointer
    uint64_t touched;           // registers that have been written
    uint64_t loaded;            // what has been taken off the stack, and from where
    int32_t places[HS_DECODER_REGISTERS];
};

static void note_load(struct ahead *ahead, const struct hs_effect *effect)
{
    struct hs_code_value base = ahead->state.registers[effect->source];
    if (effect->kind == HS_EFFECT_STORE)
        return;
    ahead->touched |= hs_register_bit(effect->reg);
    ahead->loaded &= ~hs_register_bit(effect->reg);
    if (effect->kind == HS_EFFECT_LOAD && base.kind == HS_VALUE_CFA &&
        !__builtin_add_overflow(base.number, effect->value, &ahead->places[effect->reg]))
        ahead->loaded |= hs_register_bit(effect->reg);
}

// False: what the instruction does to the frame is not certain.
static bool pass(const struct hs_decoder *decoder, struct ahead *ahead, const struct hs_instruction *instruction)
{
    bool uncertain = instruction->conditional && !hs_code_state__leaves(instruction);
    if (instruction->conditional && hs_code_state__leaves(instruction))
        return true; // where the path goes on, it has not been executed
    for (unsigned i = 0; i < instruction->count && i < HS_EFFECTS_MAX; i++) {
        const struct hs_effect *effect = &instruction->effects[i];
        if (!hs_code_state__has_registers(effect))
            continue;
        if (uncertain && (effect->reg == decoder->sp || effect->reg == decoder->ra))
            return false;
        note_load(ahead, effect);
        if (uncertain)
            hs_code_state__apply_conditional(decoder, &ahead->state, effect);
        else
            hs_code_state__apply(decoder, &ahead->state, effect);
    }
    return true;
}

static bool decode_at(const struct hs_frame_question *question, uintptr_t address, uint32_t *context,
                      struct hs_instruction *instruction)
{
    return hs_code__decode(question->decoder, question->code, address, context, instruction);
}

// A constant that the function refers to before is no code, whatever it looks like: the call before it never comes
// back.
static bool is_constant(const struct hs_frame_question *question, uintptr_t address)
{
    struct hs_instruction instruction;
    uint32_t context = 0;
    uintptr_t at = question->code->address;
    while (at < address && decode_at(question, at, &context, &instruction)) {
        if (instruction.data_size && address - instruction.data < instruction.data_size)
            return true;
        at += instruction.size;
    }
    return false;
}

// Between a caller and the function that it calls.
static bool is_stub(const struct hs_decoder *decoder, const struct ahead *ahead, const struct hs_instruction *last)
{
    return last->flow == HS_FLOW_INDIRECT && ahead->touched && !(ahead->touched & ~decoder->stub_registers);
}

static void pass_call(const struct hs_decoder *decoder, struct ahead *ahead)
{
    uint64_t kept = decoder->callee_saved | hs_register_bit(decoder->sp);
    hs_code_state__call(decoder, &ahead->state);
    ahead->touched |= ~kept;
    ahead->loaded &= kept;
}

// The instruction that leaves the function. False: the path cannot be followed to there.
static bool run_ahead(const struct hs_frame_question *question, struct ahead *ahead, struct hs_instruction *last)
{
    enum { INSTRUCTIONS_MAX = 200 };
    const struct hs_decoder *decoder = question->decoder;
    uintptr_t address = question->exact ? question->at : question->at + decoder->call_size;
    if (!question->exact && is_constant(question, address))
        return false;
    for (int i = 0; i < INSTRUCTIONS_MAX; i++) {
        struct hs_instruction slot;
        if (!decode_at(question, address, &ahead->state.context, last) || !pass(decoder, ahead, last))
            return false;
        address += last->size;
        if (last->delay_slot) {
            if (!decode_at(question, address, &ahead->state.context, &slot) || !pass(decoder, ahead, &slot))
                return false;
            address += slot.size;
        }
        if (last->flow == HS_FLOW_STOP || (last->flow == HS_FLOW_CALL && !question->past_calls))
            return false; // which may not come back
        if (last->flow == HS_FLOW_CALL)
            pass_call(decoder, ahead);
        // The cases of a switch come next, or another function: it makes and gives back a frame of its own.
        bool is_switch = question->exact && last->flow == HS_FLOW_INDIRECT && !is_stub(decoder, ahead, last) &&
                         !(ahead->loaded & hs_register_bit(decoder->ra));
        bool goes_on = last->flow == HS_FLOW_NEXT || last->flow == HS_FLOW_BRANCH || last->flow == HS_FLOW_CALL;
        if (is_switch || last->conditional || goes_on)
            continue;
        if (last->flow != HS_FLOW_JUMP)
            return true;
        address = last->target - hs_decoder_rest(decoder, last->target);
        ahead->state.context = 0;
    }
    return false;
}

// The place of the return address when the function leaves: the address to which it returns, or the one for a function
// to which it jumps. Relative to the CFA.
static bool return_place_ahead(const struct hs_frame_question *question, const struct ahead *ahead,
                               const struct hs_instruction *last, int32_t cfa, int32_t *place)
{
    const struct hs_decoder *decoder = question->decoder;
    bool popped = last->flow == HS_FLOW_RETURN && last->count;
    if (!popped && !(ahead->loaded & hs_register_bit(decoder->ra)))
        return false;
    *place = popped ? -(int32_t)decoder->word_size : ahead->places[decoder->ra] - cfa;
    return *place >= -cfa && *place < 0;
}

// Registers that are popped were saved in the frame all the time; earlier pushes give no information.
static void take_loads(const struct hs_decoder *decoder, const struct ahead *ahead, struct hs_code_frame *frame)
{
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++) {
        bool counts = i != decoder->ra && decoder->callee_saved & ahead->loaded & hs_register_bit(i);
        if (!counts || ahead->places[i] < 0 || ahead->places[i] >= frame->cfa_offset)
            continue;
        frame->saved |= hs_register_bit(i);
        frame->slots[i] = ahead->places[i] - frame->cfa_offset;
    }
    frame->stored = frame->saved;
}

bool hs_code_ahead(const struct hs_frame_question *question, struct hs_code_frame *frame)
{
    const struct hs_decoder *decoder = question->decoder;
    struct ahead ahead = {.loaded = 0};
    struct hs_instruction last;
    int32_t ra_place = 0;
    hs_code_state__at_entry(decoder, &ahead.state);
    if (!run_ahead(question, &ahead, &last))
        return false;
    struct hs_code_value sp = ahead.state.registers[decoder->sp], ra = ahead.state.registers[decoder->ra];
    bool leaves = (last.flow == HS_FLOW_RETURN && !last.count) || is_stub(decoder, &ahead, &last);
    bool kept = question->exact && leaves && ra.kind == HS_VALUE_ENTRY;
    if (sp.kind != HS_VALUE_CFA || sp.number < 0 ||
        (!return_place_ahead(question, &ahead, &last, sp.number, &ra_place) && !kept))
        return false;
    *frame = (struct hs_code_frame){.cfa_register = decoder->sp, .cfa_offset = sp.number};
    frame->bases = hs_register_bit(decoder->sp);
    frame->base_offsets[decoder->sp] = sp.number;
    take_loads(decoder, &ahead, frame);
    frame->slots[decoder->ra] = ra_place;
    if (ra_place)
        frame->saved |= hs_register_bit(decoder->ra);
    else
        frame->unchanged = hs_register_bit(decoder->ra);
    return true;
}
