// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the analysis of machine code (unwind/analysis.h) gets, and what it gives: the code of a function, and the frame
// at an address in it.
#ifndef HEAPSONDE_UNWIND_CODE_H
#define HEAPSONDE_UNWIND_CODE_H

#include "arch/decoder.h"

// The code to look at: a function, as far as its bounds are known.
struct hs_code {
    const uint8_t *bytes;
    size_t size;
    uintptr_t address; // of bytes[0]; where the function starts

    // For a part that is not the start of a function: where a jump leads into it, and the state there. NULL: it is
    // called.
    const struct hs_code_frame *entered;
    uintptr_t entry;
};

// The result for an address.
struct hs_code_frame {
    uint64_t saved;     // bit n: the caller's register n is in memory at CFA + slots[n]
    uint64_t unchanged; // bit n: register n still holds what it held at the entry
    uint64_t stored;    // bit n: what register n held at the entry is at CFA + slots[n], changed or not
    int32_t slots[HS_DECODER_REGISTERS];
    int32_t cfa_offset; // CFA = register + offset
    uint8_t cfa_register;
    uint8_t
        fp_register; // where an interrupted frame has the caller's fp, which is neither saved nor unchanged; 0: nowhere
    uint64_t bases;  // bit n: CFA = register n + base_offsets[n], too
    int32_t base_offsets[HS_DECODER_REGISTERS];
    bool guessed;   // no path from the entry led there
    bool unreached; // the same, but all that is known of the function agrees: not a guess, unless jumps lead in there
    bool outermost; // the function has given up the stack of its caller: there is none, and nothing else is said

    // For an aligned stack pointer, which is register `aligned_register` + aligned_offset. With cfa_in_memory, the CFA
    // is the word at cfa_register + cfa_offset, which is at CFA + cfa_slot, and `bases` is 0.
    bool cfa_in_memory;
    uint8_t aligned_register;
    int32_t aligned_offset, cfa_slot;
    uint64_t aligned; // bit n: slots[n] is from there instead of the CFA
};

// Decodes the instruction at `address`. False: there is none, or it is outside.
#pragma GCC visibility push(hidden)
bool hs_code__decode(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t address, uint32_t *context,
                     struct hs_instruction *instruction);
#pragma GCC visibility pop

// From the register that leads there. Any code may be looked at: it wraps.
static inline int32_t hs_code_frame__from_aligned(const struct hs_code_frame *frame, int32_t slot)
{
    return (int32_t)((uint32_t)slot + (uint32_t)frame->aligned_offset);
}

#endif
