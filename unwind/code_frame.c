// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/code_frame.h"

// The frame pointer before sp, which may have changed by an unknown amount.
static void describe_alignment(const struct hs_decoder *decoder, const struct hs_code_state *state,
                               struct hs_code_frame *frame)
{
    unsigned number = state->registers[decoder->fp].kind == HS_VALUE_ALIGNED ? decoder->fp : decoder->sp;
    struct hs_code_value value = state->registers[number];
    bool known = value.kind == HS_VALUE_ALIGNED && value.number != INT32_MIN;
    frame->aligned = known ? state->aligned : 0;
    frame->cfa_slot = known ? state->cfa_slot : 0;
    frame->aligned_register = (uint8_t)number;
    frame->aligned_offset = known ? -value.number : 0;
    frame->cfa_in_memory = false;
}

static bool cfa_is_in_memory(struct hs_code_frame *frame)
{
    frame->cfa_in_memory = frame->cfa_slot != 0;
    frame->cfa_register = frame->aligned_register;
    frame->cfa_offset = hs_code_frame__from_aligned(frame, frame->cfa_slot);
    return frame->cfa_in_memory;
}

// A frame pointer in a chain of frames leads to the CFA also where what was called has taken its arguments off the
// stack, as functions of V8 do.
static bool comes_before_sp(const struct hs_described *what)
{
    return !what->exact && hs_code_state__is_in_chain(what->decoder, what->state);
}

// Preferred are a frame pointer in a chain of frames, sp, fp, then other registers that calls preserve; after an
// interruption sp, fp, any others.
static bool describe_cfa(const struct hs_described *what, const struct hs_code_state *state,
                         struct hs_code_frame *frame)
{
    const struct hs_decoder *decoder = what->decoder;
    bool any = what->exact;
    frame->bases = 0;
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++) {
        if (state->registers[i].kind != HS_VALUE_CFA || state->registers[i].number == INT32_MIN ||
            !(any || i == decoder->sp || decoder->callee_saved & hs_register_bit(i)))
            continue;
        frame->bases |= hs_register_bit(i);
        frame->base_offsets[i] = -state->registers[i].number;
    }
    if (!frame->bases)
        return HS_DECODERS_ALIGN && cfa_is_in_memory(frame);
    unsigned number = (unsigned)__builtin_ctzll(frame->bases);
    if (frame->bases & hs_register_bit(decoder->fp))
        number = decoder->fp;
    if (frame->bases & hs_register_bit(decoder->sp) && !(number == decoder->fp && comes_before_sp(what)))
        number = decoder->sp;
    frame->cfa_register = (uint8_t)number;
    frame->cfa_offset = frame->base_offsets[number];
    return true;
}

// Code that starts threads takes a function and its argument off a stack that nothing else is on.
static bool is_outermost(const struct hs_described *what)
{
    struct hs_code_value sp = what->state->registers[what->decoder->sp];
    return !what->exact && !what->guessed && sp.kind == HS_VALUE_CFA && sp.number > what->decoder->entry_sp_from_cfa;
}

static bool is_unchanged(const struct hs_code_state *state, unsigned number)
{
    return state->registers[number].kind == HS_VALUE_ENTRY && state->registers[number].number == (int32_t)number;
}

// Valid while the stack pointer is below the slot.
static bool holds_slot(const struct hs_decoder *decoder, const struct hs_code_state *state, unsigned number)
{
    struct hs_code_value sp = state->registers[decoder->sp];
    enum hs_code_value_kind base = hs_code_state__slot_base(state, number);
    if (base == HS_VALUE_ALIGNED && sp.kind == HS_VALUE_CFA)
        return false; // what was aligned is off the stack again
    return state->saved & hs_register_bit(number) && (sp.kind != base || state->slots[number] >= sp.number);
}

// A function that a stub for lazy binding calls gets the stub's return address in ra and does not save it: the return
// address of the caller is in another register.
static void take_stub_caller(const struct hs_decoder *decoder, const struct hs_code_state *state,
                             struct hs_code_frame *frame)
{
    if (!decoder->ra_of_stubs)
        return;
    uint64_t other = hs_register_bit(decoder->ra_of_stubs), ra = hs_register_bit(decoder->ra);
    if (frame->stored & other && holds_slot(decoder, state, decoder->ra_of_stubs) && !(frame->saved & ra)) {
        frame->slots[decoder->ra] = frame->slots[decoder->ra_of_stubs];
        frame->saved |= ra;
        frame->unchanged &= ~ra;
    }
    frame->saved &= ~other;
    frame->unchanged &= ~other;
}

// A system call may need the frame pointer's register: its value is in another one meanwhile.
static uint8_t moved_fp(const struct hs_described *what)
{
    const struct hs_decoder *decoder = what->decoder;
    const struct hs_code_value *registers = what->state->registers;
    for (unsigned i = 1; what->exact && i < HS_DECODER_REGISTERS; i++)
        if (registers[i].kind == HS_VALUE_ENTRY && registers[i].number == decoder->fp)
            return (uint8_t)i;
    return 0;
}

// The arguments that the caller pushed were popped again: the code jumps on, like the entry of lazy binding, and its
// caller is in the link register.
static bool has_taken_more(const struct hs_described *what)
{
    const struct hs_decoder *decoder = what->decoder;
    struct hs_code_value sp = what->state->registers[decoder->sp];
    return what->exact && decoder->ra != HS_DECODER_NO_REGISTER && sp.kind == HS_VALUE_CFA &&
           sp.number > decoder->entry_sp_from_cfa;
}

bool hs_code_frame__describe(const struct hs_described *what, struct hs_code_frame *frame)
{
    const struct hs_decoder *decoder = what->decoder;
    const struct hs_code_state *state = what->state;
    frame->outermost = is_outermost(what);
    if (frame->outermost)
        return true;
    if (has_taken_more(what)) {
        uint64_t all = hs_register_bit(HS_DECODER_REGISTERS) - 1;
        *frame = (struct hs_code_frame){
            .cfa_register = decoder->sp, .bases = hs_register_bit(decoder->sp), .unchanged = all};
        return true;
    }
    if (HS_DECODERS_ALIGN)
        describe_alignment(decoder, state, frame);
    if (!describe_cfa(what, state, frame))
        return false;
    uint64_t lost = HS_DECODERS_ALIGN ? state->aligned & ~frame->aligned : 0;
    frame->saved = frame->unchanged = 0;
    frame->stored = state->saved & ~lost;
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++) {
        frame->slots[i] = state->slots[i];
        if (!hs_code_state__matters(decoder, i) || i == decoder->sp)
            continue;
        bool called_out = i == decoder->ra && !what->exact; // the call has overwritten it
        // A value that this path has not changed may have been changed on another path to the same place; what was
        // stored is valid for both.
        bool unchanged = !called_out && is_unchanged(state, i);
        if (holds_slot(decoder, state, i) || (frame->stored & hs_register_bit(i) && !unchanged))
            frame->saved |= hs_register_bit(i);
        else if (unchanged)
            frame->unchanged |= hs_register_bit(i);
    }
    take_stub_caller(decoder, state, frame);
    frame->fp_register = (frame->saved | frame->unchanged) & hs_register_bit(decoder->fp) ? 0 : moved_fp(what);
    if (decoder->ra == HS_DECODER_NO_REGISTER)
        return true;
    // A function saves registers in its own frame; otherwise this is a part of a function that starts earlier.
    uint64_t ra = hs_register_bit(decoder->ra);
    return frame->unchanged & ra || (frame->saved & ra && frame->slots[decoder->ra] < 0);
}

void hs_code_frame__state(const struct hs_decoder *decoder, const struct hs_code_frame *frame,
                          struct hs_code_state *state)
{
    hs_code_state__at_entry(decoder, state);
    state->saved = frame->stored;
    if (HS_DECODERS_ALIGN) {
        state->aligned = frame->aligned;
        state->cfa_slot = frame->cfa_slot;
        state->was_aligned = frame->aligned || frame->cfa_slot;
    }
    for (unsigned i = 0; i < HS_DECODER_REGISTERS; i++) {
        state->slots[i] = frame->slots[i];
        if (frame->bases >> i & 1)
            state->registers[i] = (struct hs_code_value){-frame->base_offsets[i], HS_VALUE_CFA};
        else if (!(frame->unchanged >> i & 1))
            state->registers[i] = hs_value_unknown();
    }
    if (HS_DECODERS_ALIGN && state->was_aligned)
        state->registers[frame->aligned_register] = (struct hs_code_value){-frame->aligned_offset, HS_VALUE_ALIGNED};
}
