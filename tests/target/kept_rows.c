// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames whose rule needs other registers than the stack pointer and the walker's frame pointer: every walk goes
// through them with whole rows. Machine code is analysed for the first walks only, which come by
// different ways of the walker.
#include <heapsonde/unwind.h>

#include "unwind/analysis.h"

#include <alloca.h>
#include <stdio.h>

enum { DEPTH = 10, MAX = 64, FIRST_WALKS = 8, WALKS = 100 };

static void *expected[DEPTH + 1];
static void *found[MAX];
static unsigned analyses;
static int wrong;

bool __wrap_hs_analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact,
                       void *memory, struct hs_code_frame *frame);
bool __real_hs_analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact,
                       void *memory, struct hs_code_frame *frame);

bool __wrap_hs_analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact,
                       void *memory, struct hs_code_frame *frame)
{
    analyses++;
    return __real_hs_analyse(decoder, code, at, exact, memory, frame);
}

static void look(void)
{
    int count = hs_backtrace(found, MAX), first = 0, right = 0;
    while (first < count && found[first] != expected[DEPTH])
        first++;
    while (right <= DEPTH && first + right < count && found[first + right] == expected[DEPTH - right])
        right++;
    wrong += right <= DEPTH;
}

// The room is of a size that is not known: the frame has a base of its own.
static __attribute__((noinline)) int enter(int depth)
{
    expected[depth] = __builtin_extract_return_addr(__builtin_return_address(0));
    volatile char *room = alloca((size_t)depth * 8 + 16);
    room[0] = (char)depth;
    if (depth < DEPTH)
        return enter(depth + 1) + room[0];
    look();
    return room[0];
}

int main(void)
{
    static unsigned after[FIRST_WALKS + WALKS]; // each walk: nothing in the loop is different for the first ones
    int sum = 0;
    for (int i = 0; i < FIRST_WALKS + WALKS; i++) {
        sum += enter(0);
        after[i] = analyses;
    }
    unsigned first = after[FIRST_WALKS - 1];
    printf("%u analyses for the first walks, %u for %d more; %d wrong stacks (%d)\n", first, analyses - first, WALKS,
           wrong, sum);
    return !first || analyses != first || wrong;
}
