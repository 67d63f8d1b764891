// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The state of the analysis at a place in machine code: what is known of the registers and of the frame, and how
// instructions change it.
#ifndef HEAPSONDE_UNWIND_CODE_STATE_H
#define HEAPSONDE_UNWIND_CODE_STATE_H

#include "arch/decoder.h"

enum hs_code_value_kind { HS_VALUE_UNKNOWN, HS_VALUE_CONSTANT, HS_VALUE_CFA, HS_VALUE_ENTRY, HS_VALUE_ALIGNED };

// HS_VALUE_CFA: the CFA + number. HS_VALUE_ENTRY: what register `number` held at the entry. HS_VALUE_ALIGNED: what the
// stack pointer was when it had been aligned, + number: how far that is from the CFA is not known.
struct hs_code_value {
    int32_t number;
    uint32_t kind;
};

struct hs_code_state {
    struct hs_code_value registers[HS_DECODER_REGISTERS];
    int32_t slots[HS_DECODER_REGISTERS]; // from the CFA, of the registers in `saved`
    uint64_t saved;
    uint32_t context; // the decoder's
    // The aligned stack pointer:
    bool was_aligned;
    int32_t cfa_slot; // from there: it holds the CFA; 0: none does
    uint64_t aligned; // of `saved`: slots that are from there
};

static inline uint64_t hs_register_bit(unsigned number)
{
    return UINT64_C(1) << number;
}

static inline struct hs_code_value hs_value_unknown(void)
{
    return (struct hs_code_value){0, HS_VALUE_UNKNOWN};
}

static inline bool hs_code_value__same(struct hs_code_value a, struct hs_code_value b)
{
    return a.kind == b.kind && a.number == b.number;
}

// The origin of the contents of a saved register's slot.
static inline enum hs_code_value_kind hs_code_state__slot_base(const struct hs_code_state *state, unsigned number)
{
    return HS_DECODERS_ALIGN && state->aligned & hs_register_bit(number) ? HS_VALUE_ALIGNED : HS_VALUE_CFA;
}

// Whether fp points at its caller's value, as frame pointers do in chains of frames. Otherwise it may be a register
// like any other.
static inline bool hs_code_state__is_in_chain(const struct hs_decoder *decoder, const struct hs_code_state *state)
{
    struct hs_code_value fp = state->registers[decoder->fp];
    return fp.kind == HS_VALUE_CFA && state->saved & hs_register_bit(decoder->fp) &&
           hs_code_state__slot_base(state, decoder->fp) == HS_VALUE_CFA && state->slots[decoder->fp] == fp.number;
}

#pragma GCC visibility push(hidden)
// Whether a register is kept track of when it is stored.
bool hs_code_state__matters(const struct hs_decoder *decoder, unsigned number);

void hs_code_state__at_entry(const struct hs_decoder *decoder, struct hs_code_state *state);

// Whether the effect is of registers that there are.
bool hs_code_state__has_registers(const struct hs_effect *effect);

void hs_code_state__apply(const struct hs_decoder *decoder, struct hs_code_state *state,
                          const struct hs_effect *effect);

// The same for what may not be executed: a change of sp belongs to an epilogue that returns, other results are not
// known.
void hs_code_state__apply_conditional(const struct hs_decoder *decoder, struct hs_code_state *state,
                                      const struct hs_effect *effect);

bool hs_code_state__leaves(const struct hs_instruction *instruction);

// All effects of an instruction.
void hs_code_state__run(const struct hs_decoder *decoder, struct hs_code_state *state,
                        const struct hs_instruction *instruction);

// The state after a call.
void hs_code_state__call(const struct hs_decoder *decoder, struct hs_code_state *state);
#pragma GCC visibility pop

#endif
