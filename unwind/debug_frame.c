// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/debug_frame.h"
bool hs_debug_frame_find(const struct hs_module *module, uintptr_t address, struct hs_cfi_section *section,
                         struct hs_fde *fde)
{
    (void)module;
    (void)address;
    (void)section;
    (void)fde;
    return false;
}
