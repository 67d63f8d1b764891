// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces that grow are read again for lists of traces: small ones at once, others in the background.
#ifndef HEAPSONDE_HOST_REST_LIST_READING_H
#define HEAPSONDE_HOST_REST_LIST_READING_H

#include "host/rest/trace.h"

// What one list may still take for traces that grow.
struct hs_rest_wait_budget {
    uint64_t bytes, until;
};
struct hs_rest_wait_budget hs_rest_wait_budget__of_list(void);

// What is known of the trace, until it is released; the error says what is wrong with the file since. A closed trace
// remains closed. While the trace is read again, this is what was known before; `budget` says for how long that is
// waited. NULL: out of memory.
const struct hs_trace_facts *hs_rest_trace__facts(struct hs_rest_trace *trace, struct hs_rest_wait_budget *budget,
                                                  struct hs_error *error);

// The thread that does so. NULL: out of memory.
struct hs_background *hs_list_reading__start(void);

#endif
