// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/row_find.h"

#include "unwind/code_row.h"
#include "unwind/rule_cache.h"

// Rows that no FDE stands behind.
static bool find_without_fde(uintptr_t pc, bool exact, struct hs_found_row *found)
{
    const struct hs_module *module = &found->place.module;
    found->place.section = (struct hs_cfi_section){0};
    found->place.fde = (struct hs_fde){.return_address_column = HS_DWARF_RA};
    return hs_code_row(module, pc, exact, &found->row, &found->guessed);
}

enum hs_row_result hs_row_find(uintptr_t pc, bool exact, struct hs_found_row *found)
{
    found->address = hs_rule_address(pc, exact);
    found->guessed = false;
    if (hs_fde_find(found->address, &found->place)) {
        if (hs_cfi_row_at(&found->place.section, &found->place.fde, found->address, &found->row))
            return HS_ROW_FOUND;
        hs_fde_release(&found->place);
        return HS_ROW_BAD;
    }
    if (!found->place.in_module || found->place.module.anonymous)
        return HS_ROW_MISSING;
    return find_without_fde(pc, exact, found) ? HS_ROW_FOUND : HS_ROW_MISSING;
}

void hs_row_release(const struct hs_found_row *found)
{
    hs_fde_release(&found->place);
}
