// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/ties.h"

#include <errno.h>
#include <string.h>

// How often what may be forced first is looked for before the order in which steps came decides.
#define CHOICES 8
// With a window, only this many steps are searched: where frees of unknown blocks are frequent, some always wait.
#define LOOKED_AT 256

enum domain { HEAP, POOLS, MAPS, OTHERS };

struct hs_held_step {
    struct hs_step step;
    struct hs_event event; // what `step.event` points to
    size_t next;           // of its line
    bool done;
};

// The waiting steps of one thread in one domain: `first` does not fit yet, the others follow it.
struct hs_tie_line {
    uint32_t stream;
    enum domain domain;
    size_t first, last;
    bool woken;
};

static enum domain domain_of(const struct hs_step *step)
{
    switch (step->kind) {
    case HS_EVENT_MALLOC:
    case HS_EVENT_CALLOC:
    case HS_EVENT_ALIGNED:
    case HS_EVENT_REALLOC:
    case HS_EVENT_FREE:
        return HEAP;
    case HS_EVENT_POOL_ALLOC:
    case HS_EVENT_POOL_FREE:
        return POOLS;
    case HS_EVENT_MMAP:
    case HS_EVENT_MUNMAP:
    case HS_EVENT_MREMAP:
    case HS_EVENT_BRK:
        return MAPS;
    default:
        return OTHERS;
    }
}

static struct hs_held_step *held_at(const struct hs_ties *ties, size_t number)
{
    return (struct hs_held_step *)ties->held.data + number;
}

static struct hs_tie_line *line_at(const struct hs_ties *ties, size_t number)
{
    return (struct hs_tie_line *)ties->lines.data + number;
}

static struct hs_tie_line *find_line(const struct hs_ties *ties, uint32_t stream, enum domain domain)
{
    for (size_t i = 0; i < ties->lines.count; i++)
        if (line_at(ties, i)->stream == stream && line_at(ties, i)->domain == domain)
            return line_at(ties, i);
    return NULL;
}

void hs_ties__free(struct hs_ties *ties)
{
    free(ties->held.data);
    free(ties->lines.data);
    ties->held = ties->lines = (struct hs_array){0};
}

// A step that was moved is not the last one of its time any more.
static int put_aside(struct hs_ties *ties, const struct hs_step *step)
{
    struct hs_held_step *held = hs_array__add(&ties->held, sizeof *held);
    if (!held)
        return -ENOMEM;
    *held = (struct hs_held_step){.step = *step};
    held->step.last_of_time = 0;
    if (step->event)
        held->event = *step->event;
    return 0;
}

static int take_held(struct hs_ties *ties, size_t number, bool last)
{
    struct hs_held_step *held = held_at(ties, number);
    struct hs_step step = held->step;
    if (step.event)
        step.event = &held->event;
    if (step.time < ties->now)
        step.time = ties->now;
    int result = ties->take(ties->context, &step, last);
    held->done = result != HS_TIE_WAITS;
    return result;
}

// Marks the threads whose first step may fit now. One range may end or begin several mappings.
static void wake(struct hs_ties *ties, enum domain domain, uint64_t address)
{
    for (size_t i = 0; i < ties->lines.count; i++) {
        struct hs_tie_line *line = line_at(ties, i);
        if (line->domain == domain && (domain == MAPS || held_at(ties, line->first)->step.address == address))
            line->woken = true;
    }
}

// Takes the first of a line. Returns HS_TIE_WAITS, 0 or a negative errno.
static int take_first(struct hs_ties *ties, size_t number, bool last)
{
    struct hs_tie_line *line = line_at(ties, number);
    const struct hs_held_step *first = held_at(ties, line->first);
    int result = take_held(ties, line->first, last);
    line->woken = !result; // the next one may fit immediately
    if (result)
        return result;
    const enum domain domain = line->domain;
    if (line->first == line->last)
        *line = *line_at(ties, --ties->lines.count);
    else
        line->first = first->next;
    wake(ties, domain, first->step.address);
    return 0;
}

// Chooses one of the marked threads, preferably one with further steps: the others may be waiting for these.
static size_t choose_woken(const struct hs_ties *ties)
{
    size_t chosen = SIZE_MAX;
    for (size_t i = 0; i < ties->lines.count; i++) {
        const struct hs_tie_line *line = line_at(ties, i);
        if (line->woken && (chosen == SIZE_MAX || line->first != line->last))
            chosen = i;
    }
    return chosen;
}

static int run_woken(struct hs_ties *ties)
{
    int result = 0;
    for (size_t i; result >= 0 && (i = choose_woken(ties)) < SIZE_MAX;)
        result = take_first(ties, i, false);
    if (!ties->lines.count)
        ties->held.count = 0;
    return result < 0 ? result : 0;
}

// ---- the time is over ----------------------------------------------------------------------------------------------

static bool begins_block(const struct hs_step *step)
{
    return step->kind == HS_EVENT_REALLOC ? step->phase == HS_PHASE_END
                                          : step->kind != HS_EVENT_FREE && step->kind != HS_EVENT_POOL_FREE;
}

// A free waits for an allocation, and an allocation for a free. What mappings wait for is not looked at.
static bool may_wait_for(const struct hs_step *first, const struct hs_step *other)
{
    return other->address == first->address && other->stream != first->stream && domain_of(other) == domain_of(first) &&
           (domain_of(first) == MAPS || begins_block(other) != begins_block(first));
}

// Whether no other line has a step that the first of this one may wait for.
static bool is_alone(const struct hs_ties *ties, const struct hs_tie_line *line)
{
    const struct hs_step *first = &held_at(ties, line->first)->step;
    for (size_t i = 0; i < ties->held.count; i++)
        if (!held_at(ties, i)->done && may_wait_for(first, &held_at(ties, i)->step))
            return false;
    return true;
}

// Of the lines whose first step is not later than `time`: the one that came first and is alone, else the one that came
// first. SIZE_MAX: there is none.
static size_t choose(const struct hs_ties *ties, uint64_t time, bool looks)
{
    size_t oldest = SIZE_MAX, alone = SIZE_MAX;
    for (size_t i = 0; i < ties->lines.count; i++) {
        const struct hs_tie_line *line = line_at(ties, i);
        if (held_at(ties, line->first)->step.time > time)
            continue;
        if (oldest == SIZE_MAX || line->first < line_at(ties, oldest)->first)
            oldest = i;
        if (looks && (alone == SIZE_MAX || line->first < line_at(ties, alone)->first) && is_alone(ties, line))
            alone = i;
    }
    return alone < SIZE_MAX ? alone : oldest;
}

static int force(struct hs_ties *ties, size_t line)
{
    int failed = take_first(ties, line, true);
    return failed ? failed : run_woken(ties);
}

int hs_ties__expire(struct hs_ties *ties, uint64_t time)
{
    int failed = 0;
    if (time <= ties->window)
        return 0;
    for (unsigned i = 0; ties->lines.count && !failed; i++) {
        const bool looks = i < CHOICES && (!ties->window || ties->held.count <= LOOKED_AT);
        size_t line = choose(ties, time - ties->window - 1, looks);
        if (line == SIZE_MAX)
            break;
        failed = force(ties, line);
    }
    return failed;
}

int hs_ties__settle(struct hs_ties *ties)
{
    int failed = 0;
    for (unsigned i = 0; ties->lines.count && !failed; i++)
        failed = force(ties, choose(ties, UINT64_MAX, i < CHOICES));
    ties->lines.count = ties->held.count = 0;
    return failed;
}

// ---- while it lasts ------------------------------------------------------------------------------------------------

static int take_now(struct hs_ties *ties, struct hs_step *step)
{
    int result = ties->take(ties->context, step, false);
    return result == HS_TIE_WAITS ? hs_ties__hold(ties, step) : result;
}

int hs_ties__hold(struct hs_ties *ties, const struct hs_step *step)
{
    ties->now = step->time;
    if (ties->lines.count >= HS_TIES_LINES || ties->held.count >= HS_TIES_STEPS) {
        struct hs_step alone = *step;
        int failed = hs_ties__settle(ties);
        return failed ? failed : ties->take(ties->context, &alone, true);
    }
    int failed = put_aside(ties, step);
    struct hs_tie_line *line = failed ? NULL : hs_array__add(&ties->lines, sizeof *line);
    if (!line)
        return -ENOMEM;
    *line = (struct hs_tie_line){
        .stream = step->stream, .domain = domain_of(step), .first = ties->held.count - 1, .last = ties->held.count - 1};
    return 0;
}

static int stand_behind(struct hs_ties *ties, struct hs_tie_line *line, struct hs_step *step)
{
    if (ties->held.count >= HS_TIES_STEPS) {
        int failed = hs_ties__settle(ties);
        return failed ? failed : take_now(ties, step);
    }
    if (put_aside(ties, step))
        return -ENOMEM;
    held_at(ties, line->last)->next = ties->held.count - 1;
    line->last = ties->held.count - 1;
    return 0;
}

int hs_ties__visit(struct hs_ties *ties, struct hs_step *step)
{
    ties->now = step->time;
    step->last_of_time = 0;
    const enum domain domain = domain_of(step);
    struct hs_tie_line *line = find_line(ties, step->stream, domain);
    if (line)
        return stand_behind(ties, line, step);
    int result = ties->take(ties->context, step, false);
    if (result == HS_TIE_WAITS)
        return hs_ties__hold(ties, step);
    if (result)
        return result;
    wake(ties, domain, step->address);
    return run_woken(ties);
}
