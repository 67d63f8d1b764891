// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One look into /proc/self/maps: system calls only, no state, a small buffer on the stack.
#ifndef HEAPSONDE_UNWIND_MAPS_H
#define HEAPSONDE_UNWIND_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The smallest page of all kernels: what is aligned to a larger one is aligned to it.
#define HS_PAGE_SIZE 4096

struct hs_mapping {
    uintptr_t start;
    uintptr_t end;
    // Where the first page of the same file is mapped, at or before `start`; 0: not mapped. It may be mapped several
    // times, because a segment begins in it (lld, mold, gold) or because there is another copy of the file. These are
    // the first and the last place.
    uintptr_t image_start, image_again;
    uint64_t offset, inode; // in the file, of the file
    bool readable, executable;
    char path[256]; // empty when there is none or it is longer
};

#pragma GCC visibility push(hidden)
// Finds the mapping that contains `address`.
bool hs_maps_find(uintptr_t address, struct hs_mapping *mapping);
#pragma GCC visibility pop

#endif
