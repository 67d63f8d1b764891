// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/code_cfi_row.h"

#include "arch/system.h"
#include "unwind/code_part.h"
#include "unwind/code_state.h"
#include "unwind/function_bounds.h"
#include "unwind/own_table.h"
#include "unwind/rule_cache.h"
#include "unwind/work.h"

#include <stdatomic.h>

_Static_assert(HS_DWARF_REGISTERS <= HS_DECODER_REGISTERS, "a row holds what a frame says");

static void add_alignment(const struct hs_code_frame *frame, struct hs_cfi_row *cfi_row)
{
    cfi_row->cfa_in_memory = frame->cfa_in_memory;
    cfi_row->base = frame->aligned_register;
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        if (frame->saved & frame->aligned & hs_register_bit(i))
            cfi_row->registers[i] =
                (struct hs_cfi_register){hs_code_frame__from_aligned(frame, frame->slots[i]), HS_CFI_AT_BASE};
}

static void to_cfi_row(const struct hs_decoder *decoder, const struct hs_code_frame *frame, struct hs_cfi_row *cfi_row)
{
    *cfi_row = (struct hs_cfi_row){.cfa_register = frame->cfa_register, .cfa_offset = frame->cfa_offset};
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        if (frame->saved >> i & 1)
            cfi_row->registers[i] = (struct hs_cfi_register){frame->slots[i], HS_CFI_AT_OFFSET};
    if (HS_DECODERS_ALIGN)
        add_alignment(frame, cfi_row);
    if (frame->fp_register && frame->fp_register < HS_DWARF_REGISTERS)
        cfi_row->registers[decoder->fp] = (struct hs_cfi_register){frame->fp_register, HS_CFI_REGISTER};
    if (decoder->ra == HS_DECODER_NO_REGISTER)
        cfi_row->registers[HS_DWARF_RA] = (struct hs_cfi_register){decoder->entry_sp_from_cfa, HS_CFI_AT_OFFSET};
}

static bool analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact,
                    struct hs_code_frame *frame)
{
    size_t size = hs_analysis_memory_size(decoder, code->size);
    void *memory = hs_system_memory(size);
    if (!memory)
        return false;
    bool found = hs_analyse(decoder, code, at, exact, memory, frame);
    hs_system_munmap(memory, size);
    return found;
}

// Whether the frame may be that of another function. Where calls push the return address, compilers put unlikely paths
// apart, and the ABI has the CFA and the stack pointer at calls a multiple of 16 bytes apart: what is not so, or not
// reached from the entry, may belong elsewhere.
static bool is_doubtful(const struct hs_decoder *decoder, const struct hs_code_frame *frame)
{
    bool misplaced = frame->bases & UINT64_C(1) << decoder->sp && frame->base_offsets[decoder->sp] % 16;
    return !frame->outermost && (frame->guessed || frame->unreached || misplaced);
}

// The same for code to which jumps lead from another place of the module.
static bool analyse_part(const struct hs_decoder *decoder, const struct hs_module *module, const struct hs_code *part,
                         uintptr_t at, struct hs_code_frame *frame)
{
    enum { TEXT_MAX = 1 << 22, ALL_TEXT_MAX = 1 << 28 };
    static _Atomic size_t looked_at; // in this process
    struct hs_range range;
    struct hs_code function = {0};
    struct hs_jump jump;
    if (!hs_module_segment(module, (const void *)at, &range) || range.end - range.start > TEXT_MAX ||
        atomic_fetch_add_explicit(&looked_at, (size_t)(range.end - range.start), memory_order_relaxed) > ALL_TEXT_MAX ||
        !HS_MAY_LOOK_AT((size_t)(range.end - range.start)))
        return false;
    const struct hs_code text = {
        .bytes = range.start, .size = (size_t)(range.end - range.start), .address = (uintptr_t)range.start};
    if (!hs_code_part__entered_by(decoder, &text, part, at, &jump) ||
        !hs_function_bounds(decoder, module, jump.from, &function))
        return false;
    size_t size = hs_code_part__memory_size(decoder, &function, part);
    void *memory = hs_system_memory(size);
    if (!memory)
        return false;
    bool found = hs_code_part__analyse(decoder, &function, part, &jump, at, memory, frame);
    hs_system_munmap(memory, size);
    return found;
}

static bool analyse_anywhere(const struct hs_decoder *decoder, const struct hs_module *module,
                             const struct hs_code *code, uintptr_t at, bool exact, struct hs_code_frame *frame)
{
    struct hs_code_frame of_part;
    bool known = analyse(decoder, code, at, exact, frame);
    if (exact || decoder->ra != HS_DECODER_NO_REGISTER || (known && !is_doubtful(decoder, frame)))
        return known;
    if (!analyse_part(decoder, module, code, at, &of_part) || (known && is_doubtful(decoder, &of_part)))
        return known;
    *frame = of_part;
    return true;
}

bool hs_code_cfi_row(const struct hs_module *module, uintptr_t pc, bool exact, struct hs_cfi_row *cfi_row,
                     bool *guessed)
{
    const struct hs_decoder *decoder = HS_ARCH_DECODER(pc);
    struct hs_code code = {0};
    struct hs_code_frame frame;
    struct hs_own_entry entry;
    uintptr_t address = hs_rule_address(pc, exact);
    *guessed = false;
    if (!hs_function_bounds(decoder, module, address, &code))
        return false;
    bool tabled = hs_own_table_cfi_row(module, &code, address, exact, &entry, cfi_row);
    if (tabled && entry.proven)
        return true;
    bool known = analyse_anywhere(decoder, module, &code, address, exact, &frame);
    if (known && !frame.outermost) {
        if (tabled)
            hs_own_table_prove(&entry, cfi_row, &frame);
        to_cfi_row(decoder, &frame, cfi_row);
        *guessed = frame.guessed;
        return true;
    }
    if (!known && !hs_function_is_entry(module, code.address, address)) {
        *guessed = true;
        return tabled;
    }
    *cfi_row = (struct hs_cfi_row){.cfa_register = HS_DWARF_SP};
    cfi_row->registers[HS_DWARF_RA].kind = HS_CFI_UNDEFINED;
    return true;
}
