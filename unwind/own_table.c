// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/own_table.h"

#include "unwind/exidx.h"
#include "unwind/pdr.h"
#include "unwind/rule_cache.h"

#if defined(HS_ARCH_HAS_EXIDX) || defined(HS_ARCH_HAS_PDR)
// Keys of proven entries, each at its place: an entry that loses its place to another is proven again. Rules that are
// forgotten take the proofs with them.
enum { PROOFS = 512 };
static _Atomic uintptr_t proofs[PROOFS];

#ifdef HS_ARCH_HAS_EXIDX
// An entry may be for several functions.
static bool find_cfi_row(const struct hs_module *module, const struct hs_code *code, uintptr_t address, bool exact,
                         uintptr_t *key, struct hs_cfi_row *cfi_row)
{
    struct hs_exidx exidx;
    struct hs_exidx_entry entry;
    if (!hs_exidx_of_module(module, &exidx) || !hs_exidx_find(&exidx, address, &entry))
        return false;
    *key = code->address ^ hs_rule_mix(entry.start);
    return hs_exidx_cfi_row(&exidx, &entry, cfi_row) &&
           (exact || cfi_row->registers[HS_DWARF_RA].kind == HS_CFI_AT_OFFSET);
}
#else
static bool find_cfi_row(const struct hs_module *module, const struct hs_code *code, uintptr_t address, bool exact,
                         uintptr_t *key, struct hs_cfi_row *cfi_row)
{
    (void)exact;
    return hs_pdr_find_cfi_row(module, address, key, cfi_row) && *key == code->address;
}
#endif

bool hs_own_table_cfi_row(const struct hs_module *module, const struct hs_code *code, uintptr_t address, bool exact,
                          struct hs_own_entry *entry, struct hs_cfi_row *cfi_row)
{
    uintptr_t key;
    if (!find_cfi_row(module, code, address, exact, &key, cfi_row))
        return false;
    entry->key = key + atomic_load_explicit(&hs_rule_generation_now, memory_order_relaxed);
    entry->place = &proofs[key / 8 % PROOFS];
    entry->proven = !exact && atomic_load_explicit(entry->place, memory_order_relaxed) == entry->key;
    return true;
}

static int32_t place_in_frame(const struct hs_code_frame *frame, unsigned number)
{
    return frame->saved >> number & 1 ? frame->slots[number] : 0;
}

void hs_own_table_prove(const struct hs_own_entry *entry, const struct hs_cfi_row *cfi_row,
                        const struct hs_code_frame *frame)
{
    if (frame->bases >> cfi_row->cfa_register & 1 &&
        frame->base_offsets[cfi_row->cfa_register] == cfi_row->cfa_offset &&
        place_in_frame(frame, HS_DWARF_RA) == cfi_row->registers[HS_DWARF_RA].value &&
        place_in_frame(frame, HS_DWARF_FP) == cfi_row->registers[HS_DWARF_FP].value)
        atomic_store_explicit(entry->place, entry->key, memory_order_relaxed);
}
#endif
