// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What unwind/ asks of the process that it is in (unwind/module.h, module_file.h, jit_frames.h, stack_memory.h,
// work.h), answered from images: compiled once for each view.
#ifndef HEAPSONDE_HOST_UNWIND_VIEW_PROCESS_H
#define HEAPSONDE_HOST_UNWIND_VIEW_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct hs_code_map;

struct hs_view_process {
    const struct hs_code_map *code_map;
    uint64_t granted, looked_at; // bytes of code and tables
    bool given_up;               // more than was granted would have been looked at
};

extern struct hs_view_process hs_view_process;

#endif
