// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DWARF expressions in call frame information, evaluated with registers or classified without.
#ifndef HEAPSONDE_UNWIND_EXPRESSION_H
#define HEAPSONDE_UNWIND_EXPRESSION_H

#include "unwind/odd_rules.h"
#include "unwind/reader.h"
#include "unwind/words.h"

// A value as the fast walk can compute it: base + offset, or the word there.
struct hs_symbolic {
    enum hs_odd_base base;
    int64_t offset;
    bool deref;
};

#pragma GCC visibility push(hidden)
// Evaluates with `registers`; the stack starts with `first` when that is not NULL.
// Bounded in steps and depth; reads only memory that can be read.
bool hs_expression_evaluate(struct hs_reader expression, const struct hs_all_registers *registers,
                            const uintptr_t *first, struct hs_words *words, uintptr_t *result);

// Evaluates over unknown sp, fp and CFA, with a known pc. False when the result needs anything else.
bool hs_expression_classify(struct hs_reader expression, uintptr_t pc, const struct hs_symbolic *first,
                            struct hs_symbolic *result);
#pragma GCC visibility pop

#endif
