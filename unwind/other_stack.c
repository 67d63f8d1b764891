// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/other_stack.h"

#ifdef HS_OTHER_STACKS
#include "unwind/rule_cache.h"

static const struct hs_other_stack kinds[] = HS_OTHER_STACKS;

static bool matches(const struct hs_other_stack *kind, const uint8_t *code, size_t length)
{
    if (length < kind->count * sizeof(uint32_t))
        return false;
    for (unsigned i = 0; i < kind->count; i++) {
        uint32_t word;
        __builtin_memcpy(&word, code + i * sizeof word, sizeof word);
        uint32_t differs = HS_IN_ORDER_32(word) ^ kind->instruction[i];
        if (i + 1 == kind->branch ? differs & HS_OTHER_STACK_BRANCH : differs)
            return false;
    }
    return true;
}

static void fill(const struct hs_other_stack *kind, struct hs_fde_place *place, struct hs_cfi_row *cfi_row)
{
    place->section = (struct hs_cfi_section){.start = kind->cfa, .end = kind->cfa + sizeof kind->cfa};
    place->fde = (struct hs_fde){.return_address_column = HS_DWARF_RA};
    *cfi_row = (struct hs_cfi_row){.cfa_expression = true};
    cfi_row->registers[HS_DWARF_RA] = (struct hs_cfi_register){HS_OTHER_STACK_RA, HS_CFI_AT_OFFSET};
#ifdef HS_OTHER_STACK_FP
    cfi_row->registers[HS_DWARF_FP] = (struct hs_cfi_register){HS_OTHER_STACK_FP, HS_CFI_AT_OFFSET};
#endif
}

bool hs_other_stack__find(uintptr_t pc, struct hs_fde_place *place, struct hs_cfi_row *cfi_row)
{
    struct hs_range text;
    const uint8_t *code = (const uint8_t *)hs_rule_address(pc, true);
    if ((uintptr_t)code % 4 || !hs_module_segment(&place->module, code, &text))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (matches(&kinds[i], code, (size_t)(text.end - code))) {
            fill(&kinds[i], place, cfi_row);
            return true;
        }
    return false;
}
#else
bool hs_other_stack__find(uintptr_t pc, struct hs_fde_place *place, struct hs_cfi_row *cfi_row)
{
    (void)pc, (void)place, (void)cfi_row;
    return false;
}
#endif
