// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The upper part of an address, which leads into a function, does not make a function start there.
#include "unwind/function_bounds.h"
#include "unwind/row_find.h"
#include "unwind/rule_cache.h"

#include <stdint.h>
#include <stdio.h>

extern const char crosses[], after_call[];
extern const uintptr_t pages[2];

int main(void)
{
    struct hs_found_row found = {0};
    struct hs_code code = {0};
    uintptr_t pc = (uintptr_t)after_call;
    enum hs_row_result result = hs_row_find(pc, false, &found);
    if (!hs_function_bounds(HS_ARCH_DECODER(pc), &found.place.module, pc - 8, &code))
        return 1;
    printf("function at %#lx, found at %#lx; the page is %#lx; row: %d%s, CFA r%d+%d\n", (unsigned long)crosses,
           (unsigned long)code.address, (unsigned long)pages[0], result, found.guessed ? ", guessed" : "",
           found.row.cfa_register, (int)found.row.cfa_offset);
    return pages[0] % 65536 != 0 || code.address != pages[1] || result != HS_ROW_FOUND || found.guessed ||
           found.row.cfa_offset != 208;
}
