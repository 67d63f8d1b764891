// SPDX-License-Identifier: MIT OR Apache-2.0
//
// capstone as oracle: every instruction of a file's code sections is seen by capstone and by one of our decoders, both
// views are reduced to what the analysis of code depends on, and have to be equal. Where capstone is wrong or does not
// know an instruction, the architecture's `excuse` gives the reason; excused differences are counted by it.
#ifndef HEAPSONDE_TESTS_DECODER_ORACLE_H
#define HEAPSONDE_TESTS_DECODER_ORACLE_H

#include "arch/decoder.h"

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

#define ORACLE_ACCESSES_MAX 32

// A tracked register stored to, or loaded from, [base + offset], with the base as it was before the instruction.
struct oracle_access {
    bool store;
    uint8_t reg, base;
    int64_t offset;
};

// A register that now is `base`, as it was before the instruction, plus `offset`.
struct oracle_value {
    bool known;
    uint8_t base;
    int64_t offset;
};

struct oracle_view {
    enum hs_flow flow;
    bool conditional, delay_slot, likely;             // the last two: MIPS
    uint64_t target;                                  // 0: none
    uint64_t writes;                                  // bit n: register n is written; only tracked ones count
    struct oracle_value values[HS_DECODER_REGISTERS]; // of written tracked registers
    unsigned access_count;
    struct oracle_access accesses[ORACLE_ACCESSES_MAX];
};

struct oracle {
    const char *name;
    const struct hs_decoder *decoder;
    cs_arch arch;
    cs_mode mode;
    uint64_t tracked; // registers whose writes, loads and stores are compared

    // Bytes to go on when capstone does not know an instruction; 0: as many as our decoder says.
    unsigned unknown_step;

    // What capstone says of the instruction. The view comes zeroed. A value that is not `known` is not compared.
    void (*expect)(csh handle, const cs_insn *insn, struct oracle_view *view);

    // Why capstone's view may differ for this instruction; NULL: it may not.
    const char *(*excuse)(const cs_insn *insn, const struct oracle_view *ours, const struct oracle_view *theirs);
};

static inline void oracle_view__access(struct oracle_view *view, bool store, unsigned reg, unsigned base,
                                       int64_t offset)
{
    if (view->access_count < ORACLE_ACCESSES_MAX)
        view->accesses[view->access_count++] = (struct oracle_access){store, (uint8_t)reg, (uint8_t)base, offset};
}

// Compares over the files named in the arguments, prints what differs and a summary; the exit status.
int oracle_run(const struct oracle *oracle, int argc, char **argv);

#endif
