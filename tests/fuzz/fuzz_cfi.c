// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Call frame information from hostile bytes: every record, its rows, the rules made from them, and their expressions.
// The first byte chooses what the rest is: an .eh_frame, a .debug_frame, an .eh_frame_hdr with its section, an ELF
// file, or an expression.
#include "unwind/compile.h"
#include "unwind/debug_frame.h"
#include "unwind/eh_frame.h"
#include "unwind/expression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uintptr_t stack_words[64];
static volatile uintptr_t sink;

static struct hs_all_registers some_registers(void)
{
    struct hs_all_registers registers;
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        registers.values[i] = (uintptr_t)&stack_words[i * 3];
    return registers;
}

static void evaluate(struct hs_reader expression)
{
    struct hs_all_registers registers = some_registers();
    struct hs_words words = {0};
    struct hs_symbolic cfa = {HS_BASE_CFA, 0, false}, symbolic;
    uintptr_t first = registers.values[HS_DWARF_SP], result = 0;
    hs_stack_memory_start(&words.live, first);
    if (hs_expression_evaluate(expression, &registers, &first, &words, &result))
        sink = result;
    if (hs_expression_classify(expression, 0x401000, &cfa, &symbolic))
        sink = (uintptr_t)symbolic.offset;
}

static void evaluate_row(const struct hs_cfi_section *section, const struct hs_cfi_row *cfi_row)
{
    struct hs_reader expression;
    if (cfi_row->cfa_expression && hs_cfi_expression(section, cfi_row->cfa_offset, &expression))
        evaluate(expression);
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        if (cfi_row->registers[i].kind >= HS_CFI_AT_EXPRESSION &&
            hs_cfi_expression(section, cfi_row->registers[i].value, &expression))
            evaluate(expression);
}

static void try_row(const struct hs_cfi_section *section, const struct hs_fde *fde, uintptr_t address)
{
    struct hs_found_cfi_row found = {.place = {.section = *section, .fde = *fde}, .address = address};
    if (!hs_cfi_row_at(section, fde, address, &found.cfi_row))
        return;
    sink = hs_rule_compile(&found, false);
    evaluate_row(section, &found.cfi_row);
}

static void read_section(const struct hs_cfi_section *section)
{
    struct hs_fde fde = {.cie = NULL};
    for (const uint8_t *record = section->start;; record = fde.next) {
        enum hs_fde_result result = hs_cfi_read_record(section, record, &fde);
        if (result == HS_FDE_END || result == HS_FDE_BAD)
            return;
        if (result != HS_FDE_FOUND)
            continue;
        try_row(section, &fde, fde.start);
        try_row(section, &fde, fde.start + (fde.end - fde.start) / 2);
        try_row(section, &fde, fde.end - 1);
    }
}

static void search(const uint8_t *data, size_t size)
{
    struct hs_cfi_section section = {data, data + size, 0, 0, false};
    struct hs_range header = {data, data + size};
    struct hs_fde fde;
    for (uintptr_t address = (uintptr_t)data; address < (uintptr_t)data + size; address += 1 + size / 8)
        if (hs_eh_frame_search(header, address, &section, &fde))
            try_row(&section, &fde, address);
}

static void read_file(const uint8_t *data, size_t size)
{
    struct hs_cfi_section section = {.bias = 0x10000, .debug_frame = true};
    if (hs_debug_frame_locate(data, size, &section.start, &section.end))
        read_section(&section);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    uint8_t kind = data[0];
    // An exact copy, so that the sanitizer sees every byte read outside of it.
    size_t length = size - 1;
    uint8_t *copy = malloc(length);
    memcpy(copy, data + 1, length);
    struct hs_cfi_section section = {copy, copy + length, (uintptr_t)copy, 0, kind % 5 == 1};
    switch (kind % 5) {
    case 0:
    case 1:
        read_section(&section);
        break;
    case 2:
        search(copy, length);
        break;
    case 3:
        read_file(copy, length);
        break;
    case 4:
        evaluate((struct hs_reader){copy, copy + length, false});
        break;
    }
    free(copy);
    return 0;
}
