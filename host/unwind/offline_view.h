// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a view asks of its session.
#ifndef HEAPSONDE_HOST_UNWIND_OFFLINE_VIEW_H
#define HEAPSONDE_HOST_UNWIND_OFFLINE_VIEW_H

#include "host/unwind/image.h"

struct hs_offline;

// Where the code is in this process that was at `pc` there; 0: its file is not known.
uintptr_t hs_offline__code_at(struct hs_offline *self, uintptr_t pc);

// The image that holds an address of this process.
struct hs_image *hs_offline__image_at(struct hs_offline *self, uintptr_t address);

#endif
