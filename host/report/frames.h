// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which frames of a stack a reader wants to see first, and how a frame is written.
#ifndef HEAPSONDE_HOST_REPORT_FRAMES_H
#define HEAPSONDE_HOST_REPORT_FRAMES_H

#include "host/report/style.h"
#include "host/symbols/trace_symbols.h"

// The module kinds that pictures colour.
enum hs_origin { HS_ORIGIN_PROGRAM, HS_ORIGIN_LIBRARY, HS_ORIGIN_RUNTIME, HS_ORIGIN_UNKNOWN, HS_ORIGIN_CUT };

enum hs_origin hs_frame__origin(const char *function, const char *module, const char *executable);

// Whether the function only hands allocations on: operator new, allocator classes of the C++ library, Rust's
// liballoc...
bool hs_frame__is_allocator(const struct hs_frame *frame);

// Collects up to `most` frames of a stack, innermost first, without the leading allocator frames unless nothing else is
// there. *total gets the number of frames that the stack has from the first collected one.
uint32_t hs_frames__of_stack(struct hs_trace_symbols *symbols, uint32_t stack, bool skip_allocators,
                             const struct hs_frame **frames, uint32_t most, uint32_t *total);

// "function (file:line)", the module where the file is not known; long names are shortened in the middle.
void hs_frame__print(FILE *out, const struct hs_style *style, const struct hs_frame *frame);

#endif
