// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks that a thread has come from before, found again by their innermost frame.
//
// The memo (unwind/walk.h) knows a thread's previous stack; a program that allocates in turns at several places shares
// little of it from one walk to the next. Here a whole stack is kept per place: the words of memory that its walk
// depended on, and the number that the caller gave it. From the same frame a walk is a function of the words it reads:
// when all of them are unchanged, so is the stack. They are compared in the order in which a walk reads them, so that
// no address is read that a walk would not read.
//
// A stack is kept when it was seen twice in succession from the same frame, and gives way when it has failed as often
// as it served.
#ifndef HEAPSONDE_UNWIND_WALK_SITES_H
#define HEAPSONDE_UNWIND_WALK_SITES_H

#include "unwind/walk.h"

enum {
    HS_SITES = 32,      // a power of two
    HS_SITE_WORDS = 64, // a stack that depends on more words is not kept
    HS_SITE_UNKEPT = UINT16_MAX,
};

// The data for the search, without the words: two fit into a cache line.
struct hs_site {
    uintptr_t pc;
    uintptr_t sp;
    uint32_t id;    // 0: free
    uint32_t epoch; // of the rules, when it was seen
    uint16_t words; // 0: seen once; HS_SITE_UNKEPT: not to be kept
    uint8_t trust;  // failures until it gives way
    bool needs_fp;  // the frame's own fp has an influence: it is the first of the values
};

// One thread's. Owned by one thread; nothing in it is shared. Zeroed memory is a valid, empty one.
struct hs_sites {
    struct hs_site sites[HS_SITES];
    uint16_t offsets[HS_SITES][HS_SITE_WORDS]; // of the words, from sp, in words
    uintptr_t values[HS_SITES][HS_SITE_WORDS + 1];
};

#pragma GCC visibility push(hidden)
// The id of the stack that starts at `start`, when that is known to be one that was learnt; else 0.
// Async-signal-safe; not re-entrant on one `sites`.
uint32_t hs_sites_recall(struct hs_sites *sites, const struct hs_registers *start);

// Learns that the stack from `start`, which hs_memo_walk() has just left in `memo`, has `id` (not 0).
void hs_sites_learn(struct hs_sites *sites, const struct hs_memo *memo, const struct hs_registers *start, uint32_t id);

// Forgets all: the ids mean nothing any more.
void hs_sites_forget(struct hs_sites *sites);
#pragma GCC visibility pop

#endif
