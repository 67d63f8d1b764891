// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/sample_weights.h"

#include "format/trace_format.h"
#include "host/base/numbers.h"
#include "host/base/search.h"
#include "host/store/allowance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

// Samples among which a clock's progress is shared out: fewer, and it would matter where between two samples the clock
// was read.
enum { SHARED_AMONG = 4 };

enum { MOST_ERROR_NS = 1000000 }; // of the order of two records of a thread

struct weighing {
    struct hs_sample **order; // by thread and time, those with a thread alone
    size_t count;
    uint64_t *losses; // when it was lost which threads had left the processor, in order
    size_t loss_count;
};

static bool has_thread(const struct hs_sample *sample)
{
    return sample->tid && (sample->kind == HS_SAMPLE_CPU || sample->kind == HS_SAMPLE_OFF_CPU ||
                           sample->kind == HS_SAMPLE_ON_CPU || sample->kind == HS_SAMPLE_CPU_CLOCK);
}

static int compare_samples(const void *left, const void *right)
{
    const struct hs_sample *a = *(struct hs_sample *const *)left, *b = *(struct hs_sample *const *)right;
    int result = hs_number__compare(a->tid, b->tid);
    if (!result)
        result = hs_number__compare(a->time, b->time);
    return result ? result : hs_number__compare((uintptr_t)a, (uintptr_t)b);
}

static int compare_times(const void *left, const void *right)
{
    return hs_number__compare(*(const uint64_t *)left, *(const uint64_t *)right);
}

static int put_in_order(struct weighing *weighing, struct hs_sample *samples, size_t count)
{
    weighing->order = malloc((count + 1) * sizeof *weighing->order);
    weighing->losses = malloc((count + 1) * sizeof *weighing->losses);
    if (!weighing->order || !weighing->losses)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (has_thread(&samples[i]))
            weighing->order[weighing->count++] = &samples[i];
        else if (samples[i].kind == HS_SAMPLE_ON_CPU)
            weighing->losses[weighing->loss_count++] = samples[i].time;
    }
    qsort(weighing->order, weighing->count, sizeof *weighing->order, compare_samples);
    qsort(weighing->losses, weighing->loss_count, sizeof *weighing->losses, compare_times);
    return 0;
}

// ---- CPU time ------------------------------------------------------------------------------------------------------

// A thread's samples since a reading of its clock.
struct sample_weights_stretch {
    uint64_t clock, pauses;     // the reading that it began with; a thread begins with 0
    struct hs_sample **samples; // from there on
    uint64_t weight, number;    // of the CPU samples so far
    // The same at the latest reading.
    struct hs_sample **last;
    uint64_t last_clock, last_weight;
};

// Shares out what the clock went on by, from the stretch's beginning to its latest reading.
static void share_out(const struct sample_weights_stretch *stretch)
{
    unsigned __int128 ns = stretch->last_clock - stretch->clock, before = 0, given = 0;
    if (!stretch->last_weight)
        return;
    for (struct hs_sample **at = stretch->samples; at < stretch->last; at++) {
        if ((*at)->kind != HS_SAMPLE_CPU)
            continue;
        before += (*at)->weight;
        uint64_t until = (uint64_t)(ns * before / stretch->last_weight);
        (*at)->weight = until - (uint64_t)given;
        given = until;
    }
}

static void begin_stretch(struct sample_weights_stretch *stretch, struct hs_sample **reading)
{
    *stretch = (struct sample_weights_stretch){.clock = (*reading)->weight,
                                               .pauses = (*reading)->address,
                                               .samples = reading + 1,
                                               .last_clock = (*reading)->weight};
}

static void take_reading(struct sample_weights_stretch *stretch, struct hs_sample **reading)
{
    // A pause of the recording, or another thread that has the number of one that has ended.
    bool follows = (*reading)->address == stretch->pauses && (*reading)->weight >= stretch->last_clock;
    if (follows) {
        stretch->last = reading;
        stretch->last_clock = (*reading)->weight;
        stretch->last_weight = stretch->weight;
    }
    if (follows && stretch->number && stretch->number < SHARED_AMONG)
        return;
    share_out(stretch);
    begin_stretch(stretch, reading);
}

static void weigh_cpu_time(struct hs_sample **first, struct hs_sample **end)
{
    struct sample_weights_stretch stretch = {.samples = first};
    for (; first < end; first++) {
        if ((*first)->kind == HS_SAMPLE_CPU) {
            stretch.weight += (*first)->weight;
            stretch.number++;
        } else if ((*first)->kind == HS_SAMPLE_CPU_CLOCK) {
            take_reading(&stretch, first);
        }
    }
    share_out(&stretch);
}

// ---- time off the processor ----------------------------------------------------------------------------------------

static bool has_loss_between(const struct weighing *weighing, uint64_t from, uint64_t to)
{
    const size_t first = HS_SEARCH(weighing->loss_count, i, weighing->losses[i] < from);
    return first < weighing->loss_count && weighing->losses[first] <= to;
}

static void end_time_off(const struct weighing *weighing, struct hs_sample *left, uint64_t back)
{
    bool known = back >= left->time && !has_loss_between(weighing, left->time, back);
    uint64_t weight;
    if (__builtin_mul_overflow(left->weight, back - left->time, &weight))
        weight = UINT64_MAX; // what the allowance leaves of it
    left->weight = known ? weight : 0;
}

// Times of records that the recorder took at different moments have errors of microseconds: a thread may seem to leave
// again before it returns. Two returns follow then.
static bool is_swapped(struct hs_sample *const *left_again, struct hs_sample *const *end)
{
    return end - left_again > 2 && left_again[1]->kind == HS_SAMPLE_ON_CPU && left_again[2]->kind == HS_SAMPLE_ON_CPU &&
           left_again[1]->time - left_again[0]->time < MOST_ERROR_NS;
}

// One that is followed by another has no known end: the return is missing.
static void weigh_time_off(const struct weighing *weighing, struct hs_sample **first, struct hs_sample **end,
                           uint64_t end_time)
{
    struct hs_sample *left = NULL;
    for (; first < end; first++) {
        if (left && (*first)->kind == HS_SAMPLE_OFF_CPU && is_swapped(first, end)) {
            struct hs_sample *returned = first[1];
            first[1] = first[0];
            first[0] = returned;
        }
        if ((*first)->kind == HS_SAMPLE_OFF_CPU) {
            if (left)
                left->weight = 0;
            left = *first;
        } else if ((*first)->kind == HS_SAMPLE_ON_CPU && left) {
            end_time_off(weighing, left, (*first)->time);
            left = NULL;
        }
    }
    if (left)
        end_time_off(weighing, left, end_time);
}

// ---- all -----------------------------------------------------------------------------------------------------------

static void weigh_threads(struct weighing *weighing, uint64_t end_time)
{
    struct hs_sample **at = weighing->order, **end = at + weighing->count;
    while (at < end) {
        struct hs_sample **next = at;
        while (next < end && (*next)->tid == (*at)->tid)
            next++;
        weigh_cpu_time(at, next);
        weigh_time_off(weighing, at, next, end_time);
        at = next;
    }
}

static size_t keep_weighed(struct hs_sample *samples, size_t count, struct hs_summary *summary)
{
    struct hs_allowance allowance = {.left = HS_ALLOWANCE_SAMPLES};
    size_t kept = 0;
    summary->cpu_ns = summary->off_cpu_ns = summary->off_cpu_samples = 0;
    for (size_t i = 0; i < count; i++) {
        struct hs_sample *sample = &samples[i];
        bool is_off = sample->kind == HS_SAMPLE_OFF_CPU;
        if (sample->kind == HS_SAMPLE_ON_CPU || sample->kind == HS_SAMPLE_CPU_CLOCK || (is_off && !sample->weight))
            continue;
        if (is_off || sample->kind == HS_SAMPLE_CPU)
            sample->weight = hs_allowance__take(&allowance, sample->weight);
        summary->cpu_ns += sample->kind == HS_SAMPLE_CPU ? sample->weight : 0;
        summary->off_cpu_ns += is_off ? sample->weight : 0;
        summary->off_cpu_samples += is_off;
        samples[kept++] = *sample;
    }
    summary->capped_numbers += allowance.capped;
    return kept;
}

int hs_samples__weigh(struct hs_sample *samples, size_t *count, uint64_t end_time, struct hs_summary *summary)
{
    struct weighing weighing = {0};
    if (!*count)
        return 0;
    int result = put_in_order(&weighing, samples, *count);
    if (!result) {
        weigh_threads(&weighing, end_time);
        *count = keep_weighed(samples, *count, summary);
    }
    free(weighing.order);
    free(weighing.losses);
    return result;
}
