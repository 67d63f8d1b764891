// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a thread needs to make chunks: working memory of its own.
#ifndef HEAPSONDE_RUNTIME_SEALER_H
#define HEAPSONDE_RUNTIME_SEALER_H

#include "runtime/slots.h"

#include <stdint.h>

enum { HS_SEALERS = 2 };

struct hs_sealer {
    uint8_t *scratch;       // for any coder
    uint8_t *encoded;       // HS_CODEC_MAX_OUTPUT
    uint64_t events, bytes; // written so far
    uint32_t busy_for;      // number of further chunks for which CPU pressure is assumed
};

// The first one is the writer's.
extern struct hs_sealer hs_sealers[HS_SEALERS];

// The one of that number, with memory. NULL: out of memory.
struct hs_sealer *hs_sealer__prepare(unsigned number);
void hs_sealer__reset_all(void);

// Appends one META chunk with the records in [data, data + length).
void hs_sealer__append_meta(struct hs_sealer *sealer, const void *data, uint32_t length, uint64_t sequence);

// The same with the records of a slot, which is given back.
void hs_sealer__append_meta_slot(struct hs_sealer *sealer, struct hs_slot *slot);

#endif
