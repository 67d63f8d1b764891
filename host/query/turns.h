// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads that scan take turns: as many have one at once as there are processors, and next comes the one with the least
// rank, of several the one that waits longest.
#ifndef HEAPSONDE_QUERY_TURNS_H
#define HEAPSONDE_QUERY_TURNS_H

#include <stdint.h>

// Waits for a turn. Whoever has one does not wait for anything else before it is given back.
void hs_turn__take(uint64_t rank);
void hs_turn__give_back(void);
// How many threads wait for one.
unsigned hs_turn__waiting(void);

// The rank of a question that has used so many ns of the processor for `done` parts and has `left` to do: what takes
// little does not wait for what takes long, and of those that take long the one that ends soonest comes first, so that
// not all of them end last.
uint64_t hs_turn__rank(uint64_t used, uint64_t done, uint64_t left);

#endif
