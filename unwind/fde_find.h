// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The FDE of any address, from whichever source has it: .eh_frame, registered frames, .debug_frame.
#ifndef HEAPSONDE_UNWIND_FDE_FIND_H
#define HEAPSONDE_UNWIND_FDE_FIND_H

#include "unwind/cfi.h"
#include "unwind/module.h"

struct hs_fde_place {
    struct hs_cfi_section section;
    struct hs_fde fde;
    struct hs_module module;
    bool in_module; // `module` is valid
    bool from_jit;
    bool scanned; // a table without an index was read to find it
};

#pragma GCC visibility push(hidden)
// Finds the FDE; place->in_module and place->module are set in either case. After success call hs_fde_release()
// when the FDE is no longer read.
bool hs_fde_find(uintptr_t address, struct hs_fde_place *place);
void hs_fde_release(const struct hs_fde_place *place);
#pragma GCC visibility pop

#endif
