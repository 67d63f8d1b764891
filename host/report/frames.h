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

// Collects up to `most` frames of a stack, innermost first. With `skip`, allocator frames at its inner end and the
// start of the thread at its outer end are left out, unless nothing else is there. *total gets the number of frames
// without what is left out, or a number above `most`: frames behind those are not looked up.
uint32_t hs_frames__of_stack(struct hs_trace_symbols *symbols, uint32_t stack, bool skip,
                             const struct hs_frame **frames, uint32_t most, uint32_t *total);

// The frame of the code that requested a stack's memory: the innermost one that is neither an allocator's nor the
// standard library's. If there is no such frame, the one that a report shows first. NULL: the stack is empty.
const struct hs_frame *hs_frames__requester(struct hs_trace_symbols *symbols, uint32_t stack);

// "function (file:line)", the module where the file is not known; long names lose their arguments, then their middle.
void hs_frame__print(FILE *out, const struct hs_style *style, const struct hs_frame *frame);

// "function (file:line)", in full and without a folder; only the function where the file is not known.
void hs_frame__write(FILE *out, const struct hs_frame *frame);

#endif
