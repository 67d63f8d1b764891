// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What several answers have in common: times, addresses, frames and backtraces.
#ifndef HEAPSONDE_HOST_REST_WRITE_H
#define HEAPSONDE_HOST_REST_WRITE_H

#include "host/report/json.h"
#include "host/rest/question.h"

// {"secs":..,"fract_nsecs":..} of a duration, and of a time of the trace since 1970.
void hs_write__interval(struct hs_json *json, const char *key, uint64_t ns);
void hs_write__time(struct hs_json *json, const char *key, const struct hs_store *store, uint64_t time);
// KEY, KEY_relative and KEY_relative_p: since 1970, since the start, as a part of the runtime.
void hs_write__times(struct hs_json *json, const char *key, const struct hs_store *store, uint64_t time);

// 16 hexadecimal digits.
void hs_write__hexadecimal(struct hs_json *json, const char *key, uint64_t value);

// A node's frames, the outermost of them first; a stack's, the outermost first; either as members of an open array.
void hs_write__node(struct hs_json *json, const struct hs_question *question, uint32_t node);
void hs_write__frame(struct hs_json *json, const char *key, const struct hs_question *question, uint32_t node,
                     const struct hs_frame *frame);
void hs_write__backtrace(struct hs_json *json, const char *key, const struct hs_question *question, uint32_t stack);

// The base name of a path.
const char *hs_base_name(const char *path);
// What is looked up for a node's return address.
uint64_t hs_write__call_address(const struct hs_question *question, uint32_t node);
// The thread that a stream was, as the kernel numbered it.
uint32_t hs_write__thread(const struct hs_store *store, uint32_t stream);

// A function's name without what stands in <>, if asked for. `memory` holds it when it is another.
const char *hs_write__function(const struct hs_question *question, const char *function, char **memory);

// The nodes of a stack, outermost first. To be freed; NULL: out of memory, or none.
uint32_t *hs_write__nodes(const struct hs_question *question, uint32_t stack, size_t *count);

#endif
