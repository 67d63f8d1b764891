// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How long the records of a slot are (format/trace_format.h), for whoever reads slots inside the process.
#ifndef HEAPSONDE_RUNTIME_RECORD_WORDS_H
#define HEAPSONDE_RUNTIME_RECORD_WORDS_H

#include "format/trace_format.h"

// Words that the record with this first word takes.
static inline uint32_t hs_record_words(uint64_t first)
{
    switch (first & HS_RECORD_KIND_MASK) {
    case HS_RECORD_FREE:
    case HS_RECORD_TIME:
        return 1;
    case HS_RECORD_FREE_STACK:
    case HS_RECORD_MALLOC:
    case HS_RECORD_CALLOC:
    case HS_RECORD_ALIGNED:
        return 2;
    case HS_RECORD_WIDE:
        return 1 + (uint32_t)(first >> 12 & 0xff);
    case HS_RECORD_REALLOC_USABLE:
        return 4;
    default:
        return 3;
    }
}

#endif
