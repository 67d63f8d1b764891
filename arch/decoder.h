// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What an instruction does to a stack frame: the view that the analysis of machine code (unwind/analysis.h) has of an
// instruction set. A decoder is plain data and pure functions over bytes: it depends on nothing of the architecture it
// is compiled for, so that any machine can look at any machine's code.
//
// Registers are numbered as DWARF numbers them on each architecture (AArch64: 31 is sp).
//
// A decoder must be complete where the analysis depends on it: the size of every instruction, where control goes, every
// write to sp, to the return address register and to callee-saved registers, and every full-word store of a register
// to [register + constant]. Of all other registers it must at least report that they were written. For what it cannot
// express it says HS_EFFECT_CLOBBER; what it does not know has size 0.
#ifndef HEAPSONDE_ARCH_DECODER_H
#define HEAPSONDE_ARCH_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_DECODER_REGISTERS 33

// Where control goes after an instruction. A conditional instruction may also go on to the next one.
enum hs_flow {
    HS_FLOW_NEXT,     // to the next instruction
    HS_FLOW_CALL,     // calls, and comes back to the next instruction (after the delay slot)
    HS_FLOW_BRANCH,   // jumps to `target` or goes on
    HS_FLOW_JUMP,     // jumps to `target`
    HS_FLOW_INDIRECT, // jumps to what a register or a table says: a switch or a tail call
    HS_FLOW_RETURN,   // to the caller
    HS_FLOW_STOP,     // traps: nothing goes on here
};

enum hs_effect_kind {
    HS_EFFECT_CLOBBER,      // reg := something unknown
    HS_EFFECT_SET,          // reg := value
    HS_EFFECT_ADD,          // reg := source + value; copies, too
    HS_EFFECT_ADD_REGISTER, // reg := source + other
    HS_EFFECT_SUB_REGISTER, // reg := source - other
    HS_EFFECT_OR,           // reg := source | value
    HS_EFFECT_SHIFT_LEFT,   // reg := source << value
    HS_EFFECT_ALIGN,        // reg := source rounded down to a multiple of a power of two, which is not told
    HS_EFFECT_STORE,        // word at [source + value] := reg
    HS_EFFECT_LOAD,         // reg := word at [source + value]
};

struct hs_effect {
    uint8_t kind; // enum hs_effect_kind
    uint8_t reg;
    uint8_t source;
    uint8_t other;
    int32_t value; // effects with greater values are reported as HS_EFFECT_CLOBBER
};

#define HS_EFFECTS_MAX 40

// Whether any decoder says HS_EFFECT_ALIGN: AMD64's does. A target looks at nothing but its own code, and all others
// have no machine code for what does not come.
#if defined(HS_ARCH_HEADER) || defined(__x86_64__)
#define HS_DECODERS_ALIGN true
#else
#define HS_DECODERS_ALIGN false
#endif

struct hs_instruction {
    uint8_t size;     // in bytes; 0: not decoded
    uint8_t flow;     // enum hs_flow
    bool conditional; // may not be executed at all (ARM conditions, Thumb IT blocks)
    bool delay_slot;  // the next instruction is executed before control goes elsewhere
    bool likely;      // with delay_slot: only when the branch is taken
    bool compares;    // whole registers for the branch behind it: `compared` and `compared_with`
    uint8_t compared, compared_with;
    bool unless_equal; // of a HS_FLOW_BRANCH: where it is not taken, what was compared is equal
    uint8_t count;     // of effects
    uint8_t case_size, case_scale;
    uint16_t case_count;
    uint16_t data_size;
    // Of HS_FLOW_BRANCH and HS_FLOW_JUMP; of HS_FLOW_CALL, 0 when it is not direct; of HS_FLOW_NEXT, 0 or the address
    // that the register of the first effect, a CLOBBER, is set to: functions are found by it.
    uintptr_t target;

    // Constants between instructions that this one refers to: no path leads there. data_size is 0: none.
    uintptr_t data;

    // The cases of a HS_FLOW_INDIRECT, or of one that this instruction prepares, when they are known: case n is at
    // case_base + entry * case_scale, the entry being the number of case_size bytes (little-endian, 4: with a sign) at
    // data + n * case_size, or n itself when case_size is 0.
    uintptr_t case_base;

    struct hs_effect effects[HS_EFFECTS_MAX]; // in order; each sees the results of those before it
};

struct hs_decoder {
    const char *name;
    uint8_t word_size;        // bytes of a register that is saved
    uint8_t alignment;        // every instruction starts at a multiple of it: 1, 2 or 4
    uint8_t sp, fp;           // fp: the register that compilers prefer as frame pointer
    uint8_t ra;               // holds the return address at the entry; HS_DECODER_NO_REGISTER: it is on the stack
    uint8_t ra_of_stubs;      // holds the caller's return address in functions that stubs call with ra; 0: none
    uint8_t call_size;        // a return address minus this is inside of the call or of its delay slot
    uint64_t callee_saved;    // bit n: register n survives calls
    uint64_t stub_registers;  // bit n: code that calls pass on their way to a function may change register n
    int8_t entry_sp_from_cfa; // sp - CFA at the entry
    bool data_in_code;        // instructions may say `data`
    uint8_t pointer_bit;      // set in pointers to this kind of code, and to be cleared in them

    // Decodes the instruction at `code`, of which `length` bytes can be read and which runs at `address`.
    // `context` is carried along straight code and starts as 0 at every other place (Thumb: the IT state).
    // Returns false, with size 0, for what is not an instruction or is cut off; must never read past `length`.
    bool (*decode)(const uint8_t *code, size_t length, uintptr_t address, uint32_t *context,
                   struct hs_instruction *instruction);

    // Whether a function may well start at `code`: it saves the return address, makes a frame, or has the mark that
    // compilers put at a function's start. Padding and the middle of functions must rarely pass.
    bool (*starts_function)(const uint8_t *code, size_t length);

    // Whether the code is of this kind rather than of the other one that modules may hold; NULL where all are of one.
    bool (*is_likely)(const uint8_t *code, size_t length);

    // The first jump from `code` on, which runs at `address`, that may lead into the `size` bytes at `to` from afar.
    // Bytes are compared, and it may be in the middle of an instruction: most code can be passed fast. NULL: there is
    // none. The member is NULL where calls put the return address into a register: nobody asks.
    const uint8_t *(*far_jump)(const uint8_t *code, const uint8_t *end, uintptr_t address, uintptr_t to, size_t size);

    // Whether the code that ends at `end`, of which `length` bytes can be read, ends with a call (and its delay slot).
    bool (*ends_with_call)(const uint8_t *end, size_t length);
};

#define HS_DECODER_NO_REGISTER 0xff

// Bytes in multiples of `alignment`, whose logarithm is half of it (1, 2 and 4), and what is left over. Small
// processors do not divide.
static inline size_t hs_decoder_units(const struct hs_decoder *decoder, size_t bytes)
{
    return bytes >> decoder->alignment / 2;
}

static inline size_t hs_decoder_rest(const struct hs_decoder *decoder, size_t bytes)
{
    return bytes & (decoder->alignment - 1u);
}

// Whether control never goes on to the next instruction (after the delay slot).
static inline bool hs_instruction__ends_path(const struct hs_instruction *instruction)
{
    return !instruction->conditional && (instruction->flow == HS_FLOW_RETURN || instruction->flow == HS_FLOW_JUMP ||
                                         instruction->flow == HS_FLOW_INDIRECT || instruction->flow == HS_FLOW_STOP);
}

// Whether it does nothing: no effects, or a register copied to itself.
static inline bool hs_instruction__is_padding(const struct hs_instruction *instruction)
{
    const struct hs_effect *effect = &instruction->effects[0];
    return instruction->flow == HS_FLOW_NEXT &&
           (!instruction->count || (instruction->count == 1 && effect->kind == HS_EFFECT_ADD && !effect->value &&
                                    effect->reg == effect->source));
}

#pragma GCC visibility push(hidden)
extern const struct hs_decoder hs_decoder_amd64;
extern const struct hs_decoder hs_decoder_aarch64;
extern const struct hs_decoder hs_decoder_arm;
extern const struct hs_decoder hs_decoder_thumb;
extern const struct hs_decoder hs_decoder_mips64;   // big-endian
extern const struct hs_decoder hs_decoder_mips64el; // little-endian
#pragma GCC visibility pop

#endif
