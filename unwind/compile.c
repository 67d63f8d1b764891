// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/compile.h"

#include "unwind/expression.h"
#include "unwind/odd_rules.h"
#include "unwind/walk.h"

struct context {
    const struct hs_cfi_section *section;
    const struct hs_cfi_row *cfi_row;
    uintptr_t address;
};

static bool classify(const struct context *context, int64_t place, const struct hs_symbolic *first,
                     struct hs_symbolic *result)
{
    struct hs_reader expression;
    return hs_cfi_expression(context->section, place, &expression) &&
           hs_expression_classify(expression, context->address, first, result) &&
           result->offset == (int32_t)result->offset;
}

static bool classify_cfa(const struct context *context, struct hs_symbolic *cfa)
{
    const struct hs_cfi_row *cfi_row = context->cfi_row;
    if (cfi_row->cfa_expression)
        return classify(context, cfi_row->cfa_offset, NULL, cfa);
    if (cfi_row->cfa_register != HS_DWARF_SP && cfi_row->cfa_register != HS_DWARF_FP)
        return false;
    cfa->base = cfi_row->cfa_register == HS_DWARF_SP ? HS_BASE_SP : HS_BASE_FP;
    cfa->offset = cfi_row->cfa_offset;
    cfa->deref = HS_DECODERS_ALIGN && cfi_row->cfa_in_memory;
    return cfa->offset == (int32_t)cfa->offset;
}

// The place of a register in memory.
static bool classify_place(const struct context *context, unsigned number, struct hs_symbolic *place)
{
    static const struct hs_symbolic cfa = {HS_BASE_CFA, 0, false};
    const struct hs_cfi_register *reg = &context->cfi_row->registers[number];
    if (reg->kind == HS_CFI_AT_OFFSET) {
        *place = (struct hs_symbolic){HS_BASE_CFA, reg->value, false};
        return true;
    }
    if (HS_DECODERS_ALIGN && reg->kind == HS_CFI_AT_BASE) {
        *place =
            (struct hs_symbolic){context->cfi_row->base == HS_DWARF_SP ? HS_BASE_SP : HS_BASE_FP, reg->value, false};
        return true;
    }
    return reg->kind == HS_CFI_AT_EXPRESSION && classify(context, reg->value, &cfa, place) && !place->deref;
}

// The caller's sp is the CFA unless a rule says otherwise; signal frames say it by the place the CFA is read from.
static bool sp_is_cfa(const struct context *context, const struct hs_symbolic *cfa)
{
    const struct hs_cfi_register *sp = &context->cfi_row->registers[HS_DWARF_SP];
    struct hs_symbolic place;
#ifdef HS_ARCH_LARGER_FRAMES
    const struct hs_cfi_register *ra = &context->cfi_row->registers[HS_DWARF_RA];
    if (ra->kind == HS_CFI_AT_OFFSET && ra->value >= 0)
        return false;
#endif
    if (sp->kind == HS_CFI_SAME)
        return true;
    if (sp->kind == HS_CFI_VALUE_OFFSET)
        return sp->value == 0;
    return cfa->deref && classify_place(context, HS_DWARF_SP, &place) && place.base == cfa->base &&
           place.offset == cfa->offset;
}

static bool classify_fp(const struct context *context, struct hs_symbolic *place)
{
#ifdef HS_ARCH_LINK_REGISTER
    const struct hs_cfi_register *fp = &context->cfi_row->registers[HS_DWARF_FP];
    if (fp->kind == HS_CFI_REGISTER && fp->value >= 0 && fp->value < HS_SIGNAL_REGISTERS) {
        *place = (struct hs_symbolic){HS_BASE_REGISTER, fp->value, false};
        return true;
    }
#endif
    if (context->cfi_row->registers[HS_DWARF_FP].kind != HS_CFI_SAME)
        return classify_place(context, HS_DWARF_FP, place);
    *place = (struct hs_symbolic){HS_BASE_NONE, 0, false};
    return true;
}

// On machines with a link register it may be where the call left it.
static bool classify_ra(const struct context *context, struct hs_symbolic *place)
{
#ifdef HS_ARCH_LINK_REGISTER
    if (context->cfi_row->registers[HS_DWARF_RA].kind == HS_CFI_SAME) {
        *place = (struct hs_symbolic){HS_BASE_LINK, 0, false};
        return true;
    }
#endif
    return classify_place(context, HS_DWARF_RA, place);
}

static bool is_standard(const struct hs_symbolic *cfa, const struct hs_symbolic *ra, const struct hs_symbolic *fp)
{
    return !cfa->deref && ra->base == HS_BASE_CFA &&
           (fp->base == HS_BASE_NONE || (fp->base == HS_BASE_CFA && fp->offset < 0));
}

// A guess that is not of the standard form is not worth a place in the table.
static uint32_t guess(const struct hs_found_cfi_row *found, uint32_t rule)
{
    if (!found->guessed)
        return rule;
    if (!hs_rule_is(rule, HS_RULE_STANDARD))
        return hs_rule_odd(HS_ODD_END, HS_END_NO_RULE);
    return (rule & ~HS_RULE_KIND_MASK) | HS_RULE_OF_KIND(HS_RULE_GUESSED);
}

uint32_t hs_rule_compile(const struct hs_found_cfi_row *found, bool exact)
{
    const struct hs_fde *fde = &found->place.fde;
    const struct context context = {&found->place.section, &found->cfi_row, found->address};
    struct hs_symbolic cfa, ra, fp;
    uint32_t rule;
    if (fde->return_address_column != HS_DWARF_RA)
        return hs_rule_odd(HS_ODD_END, HS_END_BAD_RULE);
    if (found->cfi_row.registers[HS_DWARF_RA].kind == HS_CFI_UNDEFINED)
        return hs_rule_odd(HS_ODD_END, found->guessed ? HS_ODD_PLANTED : HS_END_ROOT);
    if (!classify_cfa(&context, &cfa) || !classify_ra(&context, &ra) || !classify_fp(&context, &fp) ||
        !sp_is_cfa(&context, &cfa))
        return guess(found, hs_rule_odd(HS_ODD_FULL, 0));
    bool may_be_standard = !fde->signal_frame && (!exact || found->guessed);
    if (may_be_standard && is_standard(&cfa, &ra, &fp) &&
        hs_rule_encode(cfa.base == HS_BASE_FP, cfa.offset, ra.offset, fp.offset, &rule))
        return guess(found, rule);
    struct hs_odd_rule odd = {
        .cfa_offset = (int32_t)cfa.offset,
        .ra_offset = (int32_t)ra.offset,
        .fp_offset = (int32_t)fp.offset,
        .cfa_base = (uint8_t)cfa.base,
        .cfa_deref = cfa.deref,
        .ra_base = (uint8_t)ra.base,
        .fp_base = (uint8_t)fp.base,
        .signal = fde->signal_frame,
    };
    return guess(found, hs_odd_rule_intern(&odd));
}
