// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/code_visits.h"

enum { DEPTHS_MAX = sizeof((struct hs_code_visits *)0)->depths / sizeof(struct hs_code_depth) };

void hs_code_visits__start_round(struct hs_code_visits *visits)
{
    for (size_t i = 0; i < visits->places; i++) {
        visits->marks[i] &= (uint8_t)~HS_PLACE_OF_ROUND;
        visits->depth_at[i] = 0;
    }
    visits->depth_count = visits->settled = 0;
    visits->changed = false;
}

static bool leads_to_cfa(struct hs_code_value value)
{
    return value.kind == HS_VALUE_CFA || value.kind == HS_VALUE_ALIGNED;
}

static struct hs_code_value base_of(struct hs_code_value value, bool differs)
{
    return leads_to_cfa(value) && !differs ? value : hs_value_unknown();
}

// `marks`: of the place: what differs there is unknown.
static struct hs_code_depth depth_of(const struct hs_decoder *decoder, const struct hs_code_state *state,
                                     unsigned marks)
{
    struct hs_code_depth depth = {base_of(state->registers[decoder->sp], marks & HS_PLACE_SP_DIFFERS),
                                  hs_value_unknown()};
    if (depth.sp.kind == HS_VALUE_UNKNOWN || hs_code_state__is_in_chain(decoder, state))
        depth.fp = base_of(state->registers[decoder->fp], marks & HS_PLACE_FP_DIFFERS);
    return depth;
}

static bool same_depth(const struct hs_code_depth *a, const struct hs_code_depth *b)
{
    return hs_code_value__same(a->sp, b->sp) && hs_code_value__same(a->fp, b->fp);
}

// The number of a depth: mostly that of the instruction before. 0: there are too many.
static uint16_t number_of(struct hs_code_visits *visits, const struct hs_code_depth *depth)
{
    uint32_t number = visits->depth_count;
    while (number > visits->settled && !same_depth(&visits->depths[number - 1], depth))
        number--;
    if (number > visits->settled)
        return (uint16_t)number;
    visits->full = visits->full || visits->depth_count == DEPTHS_MAX;
    if (visits->full)
        return 0;
    visits->depths[visits->depth_count++] = *depth;
    return (uint16_t)visits->depth_count;
}

// If sp differs, other registers that calls preserve may differ, too. Only fp is compared.
static void forget(const struct hs_decoder *decoder, unsigned marks, struct hs_code_state *state)
{
    uint64_t lost = marks & HS_PLACE_FP_DIFFERS ? hs_register_bit(decoder->fp) : 0;
    if (marks & HS_PLACE_SP_DIFFERS)
        lost |= (decoder->callee_saved | hs_register_bit(decoder->sp)) & ~hs_register_bit(decoder->fp);
    for (; lost; lost &= lost - 1)
        if (leads_to_cfa(state->registers[__builtin_ctzll(lost)]))
            state->registers[__builtin_ctzll(lost)] = hs_value_unknown();
}

// Compilers put the target of a jump behind a call that does not come back.
static void compare(struct hs_code_visits *visits, size_t place, const struct hs_code_depth *now)
{
    const struct hs_code_depth *first = &visits->depths[visits->depth_at[place] - 1];
    unsigned mark = HS_PLACE_SP_DIFFERS; // fp is compared in the next round
    if (same_depth(first, now))
        return;
    if (hs_code_value__same(first->sp, now->sp))
        mark = HS_PLACE_FP_DIFFERS;
    else if (hs_code_visits__is(visits, place, HS_PLACE_BEHIND_CALL) && leads_to_cfa(first->sp) &&
             leads_to_cfa(now->sp))
        mark = HS_PLACE_NO_RETURN;
    hs_code_visits__mark(visits, place, mark);
    visits->changed = true;
}

// False: no path has come or will come, and there is no room to note this one.
static bool note(struct hs_code_visits *visits, size_t place, const struct hs_code_state *state)
{
    struct hs_code_depth depth = depth_of(visits->decoder, state, visits->marks[place]);
    if (!visits->depth_at[place])
        visits->depth_at[place] = number_of(visits, &depth);
    else if (visits->depth_at[place] > visits->settled)
        compare(visits, place, &depth);
    return visits->depth_at[place];
}

bool hs_code_visits__await(struct hs_code_visits *visits, size_t place, const struct hs_code_state *state)
{
    bool known = visits->depth_at[place];
    return note(visits, place, state) && !known && hs_code_visits__mark(visits, place, HS_PLACE_QUEUED);
}

bool hs_code_visits__come(struct hs_code_visits *visits, size_t place, struct hs_code_state *state)
{
    bool been = hs_code_visits__been_at(visits, place);
    if (!note(visits, place, state) || been)
        return false;
    visits->marks[place] &= (uint8_t)~HS_PLACE_QUEUED;
    forget(visits->decoder, visits->marks[place], state);
    return true;
}

bool hs_code_visits__settle(struct hs_code_visits *visits)
{
    for (size_t place = 0; place < visits->places && !visits->settled; place++) {
        // Nothing else leads there: the jump is of a loop that starts behind the call.
        if (!hs_code_visits__is(visits, place, HS_PLACE_NO_RETURN) || visits->depth_at[place])
            continue;
        visits->marks[place] = HS_PLACE_SP_DIFFERS;
        visits->changed = true;
    }
    visits->settled = visits->depth_count;
    return !visits->changed;
}
