// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DWARF call frame information: CIE and FDE records, and the CFI row of the unwind table that covers an address.
// Every read is bounded by the section; damaged input gives false, never a fault.
#ifndef HEAPSONDE_UNWIND_CFI_H
#define HEAPSONDE_UNWIND_CFI_H

#include "arch/arch.h"
#include "unwind/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_cfi_section {
    const uint8_t *start;
    const uint8_t *end;
    uintptr_t data_base; // what DW_EH_PE_datarel adds
    uintptr_t bias;      // added to absolute addresses: 0 for loaded sections
    bool debug_frame;    // .debug_frame instead of .eh_frame
};

struct hs_fde {
    uintptr_t start; // first address covered
    uintptr_t end;   // past the last
    const uint8_t *instructions;
    const uint8_t *instructions_end;
    const uint8_t *next; // the record after this one
    const uint8_t *cie;  // NULL: none has been read
    // from the CIE
    const uint8_t *initial_instructions;
    const uint8_t *initial_instructions_end;
    uint64_t code_alignment;
    int64_t data_alignment;
    uint64_t return_address_column;
    uint8_t pointer_encoding;
    bool has_augmentation_data;
    bool signal_frame;
};

enum hs_cfi_kind {
    HS_CFI_SAME = 0, // not mentioned: unchanged for callee-saved registers
    HS_CFI_UNDEFINED,
    HS_CFI_AT_OFFSET,     // in memory at CFA + value
    HS_CFI_VALUE_OFFSET,  // is CFA + value
    HS_CFI_REGISTER,      // is in register `value`
    HS_CFI_AT_EXPRESSION, // in memory where the expression at section start + value says
    HS_CFI_VALUE_EXPRESSION,
    HS_CFI_AT_BASE, // in memory at the CFI row's base + value; of no table
};

struct hs_cfi_register {
    int32_t value;
    uint8_t kind;
};

struct hs_cfi_row {
    int64_t cfa_offset; // or place of the expression, from the start of the section
    uint8_t cfa_register;
    bool cfa_expression;
    bool cfa_in_memory; // at register + offset; of no table
    uint8_t base;       // the register of HS_CFI_AT_BASE
    struct hs_cfi_register registers[HS_DWARF_REGISTERS];
};

enum hs_fde_result { HS_FDE_FOUND, HS_FDE_OTHER, HS_FDE_END, HS_FDE_BAD };

#pragma GCC visibility push(hidden)
// Reads the record at `record`. HS_FDE_FOUND: an FDE. HS_FDE_OTHER: a CIE; only fde->next is set. HS_FDE_END: the
// section ends here. fde->cie is NULL, or of an earlier record of the section that was read into the same *fde: it is
// not read again.
enum hs_fde_result hs_cfi_read_record(const struct hs_cfi_section *section, const uint8_t *record, struct hs_fde *fde);

// Computes the CFI row that holds at `address`, which must lie inside the FDE.
bool hs_cfi_row_at(const struct hs_cfi_section *section, const struct hs_fde *fde, uintptr_t address,
                   struct hs_cfi_row *cfi_row);

// Reads a pointer of the given DW_EH_PE encoding. Sets reader->failed for encodings that are not supported.
uintptr_t hs_cfi_read_pointer(struct hs_reader *reader, uint8_t encoding, const struct hs_cfi_section *section);

// The bytes of the expression that a CFI row refers to by its place in the section.
bool hs_cfi_expression(const struct hs_cfi_section *section, int64_t place, struct hs_reader *expression);
#pragma GCC visibility pop

#endif
