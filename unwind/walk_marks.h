// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How the steps of a remembered stack are to be proven (struct hs_memo, marks).
#ifndef HEAPSONDE_UNWIND_WALK_MARKS_H
#define HEAPSONDE_UNWIND_WALK_MARKS_H

#include <stdint.h>

// A frame's mark. `link` leads through the frames that the plain comparison cannot cross, nearest first.
#define MARK_OWN     1u  // the CFA of this frame depends on its fp, or whether the walk ends here
#define MARK_SLOT    2u  // this frame reloads the caller's fp from memory
#define MARK_NEED    4u  // fp at this frame has an influence on the frames nearer to the root
#define MARK_BARRIER 8u  // the step from this frame must be repeated
#define MARK_EXACT   16u // pc is an interrupted pc
#define MARK_GUESSED 32u // a frame nearer to the root was reached by a guess
#define MARK_STEP    (MARK_OWN | MARK_SLOT | MARK_BARRIER | MARK_EXACT | 0xfffu << 6)
#define MARK_GUESS   (MARK_BARRIER | 1u << 6) // of a barrier: the step is a guess

static inline uint32_t mark_fp_below_ra(uint32_t mark)
{
    return mark >> 6 & 0xfff;
}

// 1 + the nearest such frame at or before this one; 0: none.
static inline uint32_t mark_link(uint32_t mark)
{
    return mark >> 18;
}

#endif
