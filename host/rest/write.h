// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes what several answers contain: times, addresses, frames and backtraces.
#ifndef HEAPSONDE_HOST_REST_WRITE_H
#define HEAPSONDE_HOST_REST_WRITE_H

#include "host/base/json.h"
#include "host/rest/question.h"

// {"secs":..,"fract_nsecs":..}: a duration, and a time of the trace since 1970.
void hs_write__interval(struct hs_json *json, const char *key, uint64_t ns);
void hs_write__time(struct hs_json *json, const char *key, const struct hs_store *store, uint64_t time);
// KEY, KEY_relative and KEY_relative_p: since 1970, since the start, as a fraction of the runtime.
void hs_write__times(struct hs_json *json, const char *key, const struct hs_store *store, uint64_t time);

// 16 hexadecimal digits.
void hs_write__hexadecimal(struct hs_json *json, const char *key, uint64_t value);

void hs_write__frame(struct hs_json *json, const char *key, const struct hs_question *question, uint32_t node,
                     const struct hs_frame *frame);
// The frames of a stack, the outermost first, as an array.
void hs_write__backtrace(struct hs_json *json, const char *key, const struct hs_question *question, uint32_t stack);

// The address that is looked up for a node's return address.
uint64_t hs_write__call_address(const struct hs_question *question, uint32_t node);
// The kernel's thread id of a stream.
uint32_t hs_write__thread(const struct hs_store *store, uint32_t stream);

// The name of a function, without template arguments if requested. `memory` owns a shortened name.
const char *hs_write__function(const struct hs_question *question, const char *function, char **memory);

// The nodes of a stack, outermost first. The caller frees them; NULL: out of memory, or none.
uint32_t *hs_write__nodes(const struct hs_question *question, uint32_t stack, size_t *count);

#endif
