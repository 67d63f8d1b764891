// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the addresses in the stacks of a trace stand for. Many nodes share few addresses, so the result for an address
// is kept under a number (a place). Any number of threads may read at once; a thread that adds holds the owner's lock.
#ifndef HEAPSONDE_HOST_SYMBOLS_PLACES_H
#define HEAPSONDE_HOST_SYMBOLS_PLACES_H

#include "host/symbols/symbols.h"

struct hs_place {
    uint64_t pc;
    uint64_t from, until;           // [from, until): when the address stands for this; HS_NEVER: without end
    const struct hs_frames *frames; // NULL: not requested yet; accessed atomically
    int module;                     // -1: none
};

// Runs of places, each twice as long as the previous one, so that places never move.
enum { HS_PLACES_FIRST_BITS = 10, HS_PLACES_RUNS = 32 - HS_PLACES_FIRST_BITS };

struct hs_places {
    struct hs_place *run[HS_PLACES_RUNS];
    // Private.
    uint32_t count;
    size_t listed;
    struct hs_places_table *table; // accessed atomically
};

int hs_places__init(struct hs_places *places); // 0 or -ENOMEM
void hs_places__free(struct hs_places *places);

// The number of the place for the address at the time; 0: there is none yet.
uint32_t hs_places__find(const struct hs_places *places, uint64_t pc, uint64_t time);
// Numbers begin at 1. 0: out of memory. A place that is not `listed` cannot be found by address.
uint32_t hs_places__add(struct hs_places *places, const struct hs_place *place, bool listed);

static inline unsigned hs_places__run_of(uint32_t number)
{
    return 31 - (unsigned)__builtin_clz((number >> HS_PLACES_FIRST_BITS) + 1);
}

// Before run n there are 2^n - 1 times as many places as in the first run.
static inline struct hs_place *hs_places__at(const struct hs_places *places, uint32_t number)
{
    const unsigned run = hs_places__run_of(number);
    return &places->run[run][number - (((1u << run) - 1) << HS_PLACES_FIRST_BITS)];
}

#endif
