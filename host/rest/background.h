// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Work that nobody should wait for, done on a thread of its own, one thing after the other.
#ifndef HEAPSONDE_HOST_REST_BACKGROUND_H
#define HEAPSONDE_HOST_REST_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

// Part of each thing; zero at first.
struct hs_background_thing {
    struct hs_background_thing *next;
    bool asked;
};

struct hs_background;

struct hs_background *hs_background__create(void (*work)(struct hs_background_thing *thing));
// What is under way ends first; what waits is not begun.
void hs_background__destroy(struct hs_background *background);

// Asks for the work on a thing, unless it is asked for already, and waits for it until `until` (hs_clock__now()).
// Returns whether it is done. Without a thread for it: false.
bool hs_background__ask(struct hs_background *background, struct hs_background_thing *thing, uint64_t until);

#endif
