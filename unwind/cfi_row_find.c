// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/cfi_row_find.h"

#include "unwind/call_site.h"
#include "unwind/code_cfi_row.h"
#include "unwind/function_bounds.h"
#include "unwind/odd_rules.h"
#include "unwind/other_stack.h"
#include "unwind/rule_cache.h"

// Code after `pc`, or before it, in the module's readable memory.
static bool text_at(const struct hs_module *module, uintptr_t pc, struct hs_range *text)
{
    return !module->anonymous && hs_module_segment(module, (const void *)pc, text);
}

// Nothing called the first code of a process: its machine code would lead to a guess.
static bool at_start_code(const struct hs_module *module, uintptr_t pc)
{
    struct hs_range text;
    const uint8_t *code = (const uint8_t *)hs_rule_address(pc, true);
    return text_at(module, (uintptr_t)code, &text) && hs_start_code(code, (size_t)(text.end - code));
}

static bool starts_function(const struct hs_found_cfi_row *found, uintptr_t pc)
{
    struct hs_fde_place place;
    struct hs_code function = {0};
    uintptr_t code = hs_rule_address(pc, true);
    if (hs_fde_find(code, &place)) {
        bool at_start = place.fde.start == code;
        hs_fde_release(&place);
        return at_start;
    }
    return found->place.in_module && !found->place.module.anonymous &&
           hs_function_bounds(HS_ARCH_DECODER(pc), &found->place.module, code, &function) && function.address == code;
}

// Whether control cannot come to the code from what is before it. Only where all instructions are of one size, so that
// they can be read backwards.
static bool after_path_end(const struct hs_module *module, uintptr_t pc)
{
    enum { SIZE = 4, PADDING_MAX = 16 };
    const struct hs_decoder *decoder = HS_ARCH_DECODER(pc);
    struct hs_instruction instruction;
    struct hs_range text;
    uintptr_t code = hs_rule_address(pc, true);
    bool in_slot = false; // what comes after may be in a delay slot
    if (decoder->alignment != SIZE || !text_at(module, code, &text))
        return false;
    for (int i = 0; i < PADDING_MAX && code - (uintptr_t)text.start >= SIZE; i++) {
        uint32_t context = 0;
        code -= SIZE;
        if (!decoder->decode((const uint8_t *)code, SIZE, code, &context, &instruction))
            return false;
        bool ends = hs_instruction__ends_path(&instruction);
        if (in_slot)
            return ends && instruction.delay_slot;
        if (ends)
            return !instruction.delay_slot || i > 0;
        in_slot = !hs_instruction__is_padding(&instruction);
    }
    return false;
}

// A return address that is not after a call: the first byte of a function, or code that nothing before it leads to. It
// was put there when the stack was made (as in makecontext()), so the stack starts here. Or an optimizing compiler's
// frame was replaced by that of an interpreter (V8), to which frame pointers lead on.
static bool planted(const struct hs_found_cfi_row *found, uintptr_t pc)
{
    const struct hs_module *module = &found->place.module;
    if (found->place.in_module && hs_call_site__in_module(module, pc))
        return false;
    return starts_function(found, pc) || (found->place.in_module && after_path_end(module, pc));
}

// Code outside of all modules that is known to have no frame.
static bool is_leaf(uintptr_t address)
{
#ifdef HS_ARCH_IS_LEAF
    return HS_ARCH_IS_LEAF(address);
#else
    (void)address;
    return false;
#endif
}

// CFI rows that no FDE stands behind.
static bool find_without_fde(uintptr_t pc, bool exact, struct hs_found_cfi_row *found)
{
    const struct hs_module *module = &found->place.module;
    bool in_code = found->place.in_module && !module->anonymous;
    found->place.section = (struct hs_cfi_section){0};
    found->place.fde = (struct hs_fde){.return_address_column = HS_DWARF_RA};
    const bool starts_stack = !exact && planted(found, pc);
    if (starts_stack || (in_code && at_start_code(module, pc))) {
        found->guessed = HS_PLANTED_FRAMES && starts_stack;
        found->cfi_row = (struct hs_cfi_row){.cfa_register = HS_DWARF_SP};
        found->cfi_row.registers[HS_DWARF_RA].kind = HS_CFI_UNDEFINED;
        return true;
    }
    if (exact && is_leaf(found->address)) {
        found->cfi_row = (struct hs_cfi_row){.cfa_register = HS_DWARF_SP};
        return true;
    }
    return in_code && hs_code_cfi_row(module, pc, exact, &found->cfi_row, &found->guessed);
}

// Code that is made at run time may have a table for exceptions alone, which does not even say where the frame is.
static bool says_nothing(const struct hs_cfi_row *cfi_row)
{
    return !cfi_row->cfa_register && !cfi_row->cfa_offset && cfi_row->registers[HS_DWARF_RA].kind == HS_CFI_SAME;
}

enum hs_cfi_row_result hs_cfi_row_find(uintptr_t pc, bool exact, struct hs_found_cfi_row *found)
{
    struct hs_fde_place *place = &found->place;
    found->address = hs_rule_address(pc, exact);
    found->guessed = false;
    const bool tabled = hs_fde_find(found->address, place);
    if (!exact && place->in_module && !place->module.anonymous && hs_other_stack__find(pc, place, &found->cfi_row)) {
        hs_fde_release(place); // a table takes it for a frame of the stack that it called on
        place->from_jit = false;
        return HS_ROW_FOUND;
    }
    if (tabled) {
        bool good = hs_cfi_row_at(&place->section, &place->fde, found->address, &found->cfi_row);
        if (good && !says_nothing(&found->cfi_row))
            return HS_ROW_FOUND;
        hs_fde_release(place);
        place->in_module = good;
        return good ? HS_ROW_MISSING : HS_ROW_BAD;
    }
    return find_without_fde(pc, exact, found) ? HS_ROW_FOUND : HS_ROW_MISSING;
}

void hs_cfi_row_release(const struct hs_found_cfi_row *found)
{
    hs_fde_release(&found->place);
}
