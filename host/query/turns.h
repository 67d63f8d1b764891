// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads that scan take turns: as many have one at once as there are processors, and next comes the one whose question
// has used the least so far. What takes little does not wait for what takes long.
#ifndef HEAPSONDE_QUERY_TURNS_H
#define HEAPSONDE_QUERY_TURNS_H

#include <stdint.h>

// Waits for a turn. Whoever has one does not wait for anything else before it is given back.
void hs_turn__take(uint64_t used);
void hs_turn__give_back(void);

#endif
