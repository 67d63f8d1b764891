// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where functions start whose code looks like that of two, or the code of two like one: the upper part of an address
// leads into a function, and stubs for lazy binding follow each other's calls.
#include "unwind/cfi_row_find.h"
#include "unwind/function_bounds.h"
#include "unwind/rule_cache.h"

#include <stdint.h>
#include <stdio.h>

extern const char crosses[], after_call[], second_stub[];
extern const uintptr_t pages[2];

// Interrupted in a stub: the return address is where it was at the entry.
static int check_stub(const char *interrupted)
{
    struct hs_found_cfi_row found = {0};
    enum hs_cfi_row_result result = hs_cfi_row_find((uintptr_t)interrupted, true, &found);
    printf("stub+%d: row: %d%s, CFA r%d+%d, return address %d\n", (int)(interrupted - second_stub), result,
           found.guessed ? ", guessed" : "", found.cfi_row.cfa_register, (int)found.cfi_row.cfa_offset,
           found.cfi_row.registers[HS_DWARF_RA].kind);
    return result != HS_ROW_FOUND || found.guessed || found.cfi_row.cfa_register != HS_DWARF_SP ||
           found.cfi_row.cfa_offset || found.cfi_row.registers[HS_DWARF_RA].kind != HS_CFI_SAME;
}

static int check_page(void)
{
    struct hs_found_cfi_row found = {0};
    struct hs_code code = {0};
    uintptr_t pc = (uintptr_t)after_call;
    enum hs_cfi_row_result result = hs_cfi_row_find(pc, false, &found);
    if (!hs_function_bounds(HS_ARCH_DECODER(pc), &found.place.module, pc - 8, &code))
        return 1;
    printf("function at %#lx, found at %#lx; the page is %#lx; row: %d%s, CFA r%d+%d\n", (unsigned long)crosses,
           (unsigned long)code.address, (unsigned long)pages[0], result, found.guessed ? ", guessed" : "",
           found.cfi_row.cfa_register, (int)found.cfi_row.cfa_offset);
    return pages[0] % 65536 != 0 || code.address != pages[1] || result != HS_ROW_FOUND || found.guessed ||
           found.cfi_row.cfa_offset != 208;
}

int main(void)
{
    return check_page() | check_stub(second_stub) | check_stub(second_stub + 8);
}
