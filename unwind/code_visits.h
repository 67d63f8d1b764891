// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which places the paths through a function's code have reached, and with which frame. If two paths reach one place
// with different frames, that has to be detected. A function that pushes in a loop, or probes its stack, has a
// different depth at the same place in each iteration.
//
// The code is analysed in rounds. If something differs at a place, it is unknown there from the next round on. A round
// without new differences gives the result that holds for all paths.
#ifndef HEAPSONDE_UNWIND_CODE_VISITS_H
#define HEAPSONDE_UNWIND_CODE_VISITS_H

#include "unwind/code_state.h"

// The marks of a place. Those of a round are cleared at its end.
enum {
    HS_PLACE_QUEUED = 1,      // of a round: a path will come, with the depth that is known there
    HS_PLACE_BEHIND_CALL = 2, // of a round: the first path came from the call before it
    HS_PLACE_DATA = 4,        // an instruction says that there is none
    HS_PLACE_NO_RETURN = 8,   // the call before it does not come back: jumps lead here with another frame
    HS_PLACE_SP_DIFFERS = 16,
    HS_PLACE_FP_DIFFERS = 32,
    HS_PLACE_OF_ROUND = HS_PLACE_QUEUED | HS_PLACE_BEHIND_CALL,
};

// The registers from which the CFA is computed, if they lead to it: sp, and fp where sp does not or where fp is in a
// chain of frames. Other registers that point into the frame may change in every iteration of a loop.
struct hs_code_depth {
    struct hs_code_value sp, fp;
};

// A place is a number: that of the unit of code in which an instruction may start.
struct hs_code_visits {
    const struct hs_decoder *decoder;
    uint8_t *marks;
    uint16_t *depth_at; // number of the depth that the first path had there, from 1; 0: no path has come
    size_t places;
    uint32_t depth_count;
    uint32_t settled; // depths up to this number belong to paths that are believed before those of now
    bool changed;     // something new differs
    bool full;        // there were too many depths to tell
    struct hs_code_depth depths[1024];
};

static inline bool hs_code_visits__is(const struct hs_code_visits *visits, size_t place, unsigned mark)
{
    return visits->marks[place] & mark;
}

// False when it was marked.
static inline bool hs_code_visits__mark(struct hs_code_visits *visits, size_t place, unsigned mark)
{
    bool was = visits->marks[place] & mark;
    visits->marks[place] |= (uint8_t)mark;
    return !was;
}

static inline bool hs_code_visits__been_at(const struct hs_code_visits *visits, size_t place)
{
    return visits->depth_at[place] && !hs_code_visits__is(visits, place, HS_PLACE_QUEUED);
}

#pragma GCC visibility push(hidden)
void hs_code_visits__start_round(struct hs_code_visits *visits);

// A path will come to a place. False: another one has been there, or will come.
bool hs_code_visits__await(struct hs_code_visits *visits, size_t place, const struct hs_code_state *state);

// A path comes to a place. False: another one has been there. What differs between paths there is taken out of *state.
bool hs_code_visits__come(struct hs_code_visits *visits, size_t place, struct hs_code_state *state);

// All paths that are proven have ended: what comes now is believed less. False: something differs, and another round is
// needed first.
bool hs_code_visits__settle(struct hs_code_visits *visits);
#pragma GCC visibility pop

#endif
