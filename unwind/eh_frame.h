// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finding the FDE of an address in a loaded module's .eh_frame.
#ifndef HEAPSONDE_UNWIND_EH_FRAME_H
#define HEAPSONDE_UNWIND_EH_FRAME_H

#include "unwind/cfi.h"
#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// Through the sorted table of .eh_frame_hdr, or record by record when there is none.
bool hs_eh_frame_find(const struct hs_module *module, uintptr_t address, struct hs_cfi_section *section,
                      struct hs_fde *fde);

// Calls note(context, address) for every function start that the sorted table has in the `size` bytes from `start` on,
// and perhaps for one before them.
void hs_eh_frame_each_start(const struct hs_module *module, uintptr_t start, size_t size,
                            void (*note)(const void *context, uintptr_t address), const void *context);

// Record by record from `first`.
bool hs_eh_frame_scan(const struct hs_cfi_section *section, const uint8_t *first, uintptr_t address,
                      struct hs_fde *fde);

// The part that needs no module: `header` is the readable bytes of .eh_frame_hdr; section->start and end bound what
// may be read of .eh_frame, section->data_base is set here.
bool hs_eh_frame_search(struct hs_range header, uintptr_t address, struct hs_cfi_section *section, struct hs_fde *fde);
#pragma GCC visibility pop

#endif
