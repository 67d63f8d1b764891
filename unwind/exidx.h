// SPDX-License-Identifier: MIT OR Apache-2.0
//
// .ARM.exidx and .ARM.extab: the unwind tables of the ARM EHABI. An entry holds for its function's call sites, not for
// its prologue and epilogues; it covers the code up to the next entry.
//
// The tables are seen as bytes at a 32-bit address, so that any machine can read them. Damaged tables give false, never
// a fault: every read is bounded by the bytes, and none is wider than a byte.
#ifndef HEAPSONDE_UNWIND_EXIDX_H
#define HEAPSONDE_UNWIND_EXIDX_H

#include "unwind/cfi.h"
#include "unwind/module.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_exidx {
    const uint8_t *bytes; // memory that holds both tables
    uint32_t size;
    uint32_t address; // of bytes[0]
    uint32_t index;   // the address of .ARM.exidx
    uint32_t count;   // of its entries
};

// The contents of one entry: the unwind opcodes of a function, up to 3 of which are in the first word.
struct hs_exidx_entry {
    uint32_t start;   // of the function, without the bit that says Thumb
    uint32_t end;     // where the next entry starts; start when this is the last entry
    uint32_t opcodes; // address of the words that hold the opcodes
    uint16_t words;   // how many
    uint8_t skip;     // bytes of the first word that are no opcodes
};

#pragma GCC visibility push(hidden)
// The last entry whose function starts at or before `address`. False when there is none, when it says that the function
// cannot be unwound, and when it is of a kind that the EHABI does not define.
bool hs_exidx_find(const struct hs_exidx *exidx, uint32_t address, struct hs_exidx_entry *entry);

// Executes the entry's opcodes: the CFI row has the CFA and the places of r4-r11 and of the return address. A return
// address that is not in memory is in lr still. False for opcodes that are spare, reserved or refuse to unwind, and for
// frames that a CFI row cannot describe.
bool hs_exidx_cfi_row(const struct hs_exidx *exidx, const struct hs_exidx_entry *entry, struct hs_cfi_row *cfi_row);

// The number of entries that start at or before `address`.
uint32_t hs_exidx_entries_before(const struct hs_exidx *exidx, uint32_t address);

// The function starts that the index names, one after the other: false at the end of the index.
bool hs_exidx_start(const struct hs_exidx *exidx, uint32_t number, uint32_t *start);

#ifdef HS_ARCH_HAS_EXIDX
// The tables of a loaded module. False when it has none.
bool hs_exidx_of_module(const struct hs_module *module, struct hs_exidx *exidx);
#endif
#pragma GCC visibility pop

#endif
