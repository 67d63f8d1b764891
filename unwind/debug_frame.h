// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frame information that only the module's file leads to: .debug_frame, which is not loaded, and the .eh_frame of
// static executables, which is loaded but which no program header names.
#ifndef HEAPSONDE_UNWIND_DEBUG_FRAME_H
#define HEAPSONDE_UNWIND_DEBUG_FRAME_H

#include "unwind/cfi.h"
#include "unwind/module.h"

#pragma GCC visibility push(hidden)
// Finds the FDE of `address` through the module's file, which stays mapped for later calls. Compressed sections are
// skipped.
bool hs_debug_frame_find(const struct hs_module *module, uintptr_t address, struct hs_cfi_section *section,
                         struct hs_fde *fde);

// The .debug_frame section inside the bytes of an ELF file. Bounded, for damaged files too.
bool hs_debug_frame_locate(const uint8_t *file, size_t size, const uint8_t **start, const uint8_t **end);
#pragma GCC visibility pop

#endif
