// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Forward abstract interpretation of one function's machine code: where the caller's registers are when control is at a
// given address. For code that no table describes.
//
// The state of a path is, for every register, what is known of its value (the CFA plus a constant, a constant, the
// value that some register had at the entry) and, for every register that calls preserve and for the return address,
// where in the frame its entry value was stored. Paths start at the entry and follow all branches; the first one to
// reach an instruction decides. A slot that was stored to stays known: at a call the memory still holds it, even if an
// earlier path has reloaded the register. Code that no path reaches (switch cases behind a table, landing pads) starts
// in the state of the indirect jump before it, or else in the state that most calls of the function have. Where that
// proves nothing, the way from there to the end of the function may: it gives back what the frame is made of.
//
// Nothing here depends on the machine that this is compiled for. Work and memory are bounded; any bytes may be code.
#ifndef HEAPSONDE_UNWIND_ANALYSIS_H
#define HEAPSONDE_UNWIND_ANALYSIS_H

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

// From the register that leads there. Any code may be looked at: it wraps.
static inline int32_t hs_code_frame__from_aligned(const struct hs_code_frame *frame, int32_t slot)
{
    return (int32_t)((uint32_t)slot + (uint32_t)frame->aligned_offset);
}

// Larger functions are cut: the work per address stays bounded.
#define HS_ANALYSIS_CODE_MAX (1 << 20)

#pragma GCC visibility push(hidden)
// Bytes of memory that an analysis of `size` bytes of code needs.
size_t hs_analysis_memory_size(const struct hs_decoder *decoder, size_t size);

// Finds the frame at `at`, which is in the instruction of a call (or in its delay slot), or, if `exact`, the first byte
// of the instruction that is executed next. `memory`: hs_analysis_memory_size() zero bytes, aligned to 16. False when
// the code does not tell: then there is nothing in *frame.
bool hs_analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact, void *memory,
                struct hs_code_frame *frame);
#pragma GCC visibility pop

#endif
