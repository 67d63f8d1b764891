// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces of a program of ten seconds with planted faults. Without one, it does the same harmless work in each of its
// thousand rounds.
#ifndef HEAPSONDE_TESTS_FINDINGS_PLANTED_H
#define HEAPSONDE_TESTS_FINDINGS_PLANTED_H

#include "format/trace_format.h"

#include <stdbool.h>

enum plant {
    PLANT_NOTHING,
    PLANT_LEAK,
    PLANT_CACHE,
    PLANT_SLOW_CACHE,
    PLANT_FREED_AT_END,
    PLANT_ROUNDS,
    PLANT_PEAK,
    PLANT_CHURN,
    PLANT_REALLOC,
    PLANT_TINY,
    PLANT_ROUNDING,
    PLANT_HOLES,
    PLANT_UNTOUCHED,
    PLANT_DROPPED,
    PLANT_RESIDENT,
    PLANT_NOT_HEAP,
    PLANT_ATTACHED, // like PLANT_RESIDENT, with older blocks that are not known
    PLANTS,
    PLANT_LEAK_AND_CHURN = PLANTS, // two faults
    PLANT_SMALL_LEAK,              // like PLANT_LEAK, of 40 bytes in each round
    PLANT_LOADED,                  // like PLANT_LEAK, for the first 800 rounds
    PLANT_STACKS                   // like PLANT_RESIDENT; the trace says where the stack of a thread is
};

// Builds the program's file below the folder, with a function `planted` that allocates what is planted.
void planted__build(const char *folder);
// Builds of the program. Those with an id differ in it. In the first one, functions are at other places; one has
// another name; the last one differs from the second in its id only.
enum planted_build { BUILD_WITHOUT_ID, BUILD_FIRST, BUILD_SECOND, BUILD_RENAMED, BUILD_PATCHED };
// Which build the next programs and traces are of.
void planted__choose(enum planted_build build);
// `more` times as much of what is planted.
void planted__write(const char *path, enum plant plant, unsigned more);
// The same in a second less than the ten.
void planted__write_short(const char *path, enum plant plant, unsigned more);
// What a trace says to be missing.
void planted__say_dropped(const char *path, enum hs_drop reason, uint64_t count);

#endif
