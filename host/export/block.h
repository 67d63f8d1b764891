// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One block as the formats with a line or a row for each block have it.
#ifndef HEAPSONDE_HOST_EXPORT_BLOCK_H
#define HEAPSONDE_HOST_EXPORT_BLOCK_H

#include "host/report/report.h"

struct hs_block {
    uint64_t time, free_time; // HS_NEVER: still there
    uint64_t lifetime;        // until the end where it was not freed
    uint64_t address, size, usable;
    uint32_t tid;
    const char *thread; // its name, "" when unknown
    const char *kind;   // malloc, calloc, ...
    bool temporary;
    uint32_t stack;
};

void hs_block__of_row(struct hs_block *block, const struct hs_store *store, uint64_t row);

// For each stack the frame that asked for the memory: the innermost one that is not an allocator's.
struct hs_call_sites {
    struct hs_trace_symbols *symbols;
    const struct hs_frame **of_stack;
    size_t count;
};
int hs_call_sites__start(struct hs_call_sites *sites, const struct hs_subject *subject); // 0 or -ENOMEM
void hs_call_sites__free(struct hs_call_sites *sites);
const struct hs_frame *hs_call_sites__of(struct hs_call_sites *sites, uint32_t stack); // never NULL

#endif
