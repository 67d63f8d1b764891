// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Estimates added up per stack; rounded only then.
#include "host/base/numbers.h"
#include "host/dump/alike.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct totals_sums {
    uint32_t stack;
    struct hs_dump_estimate of[2]; // by dump
};

struct totals_adding {
    const struct hs_dump_view *view;
    unsigned dump[2], dumps; // of the view
    struct totals_sums *sums;
    size_t count;
    uint32_t *place; // by node, + 1
    struct hs_dump_estimate whole[2];
};

static const struct hs_dump *dump_of(const struct totals_adding *adding, unsigned which)
{
    return adding->view->dumps[adding->dump[which]];
}

// `view`, `dump` and `dumps` are set.
static int start(struct totals_adding *adding)
{
    size_t contexts = 0;
    for (unsigned which = 0; which < adding->dumps; which++)
        contexts += dump_of(adding, which)->context_count;
    adding->sums = calloc(contexts + 1, sizeof(struct totals_sums));
    adding->place = calloc(adding->view->node_count + 1, sizeof(uint32_t));
    return adding->sums && adding->place ? 0 : -ENOMEM;
}

static void finish(struct totals_adding *adding)
{
    free(adding->sums);
    free(adding->place);
}

static void add_counts(struct totals_adding *adding, unsigned which, size_t context,
                       const struct hs_dump_counts *counts)
{
    const uint32_t *like = adding->view->like;
    uint32_t node = adding->view->nodes[adding->dump[which]][context];
    node = like ? like[node] : node;
    struct hs_dump_estimate estimate = hs_dump__estimate(dump_of(adding, which), counts);
    if (!adding->place[node]) {
        adding->sums[adding->count].stack = node;
        adding->place[node] = (uint32_t)++adding->count;
    }
    hs_dump_estimate__add(&adding->sums[adding->place[node] - 1].of[which], estimate);
    hs_dump_estimate__add(&adding->whole[which], estimate);
}

static uint64_t whole_number(double value)
{
    return value < 0x1p63 ? (uint64_t)llround(value) : (uint64_t)1 << 63;
}

static void round_sums(struct hs_total *total, const struct hs_dump_estimate *of, bool compared)
{
    const struct hs_dump_estimate *last = &of[compared ? 1 : 0];
    *total = (struct hs_total){.stack = total->stack,
                               .lifetime_min = UINT64_MAX,
                               .live_bytes = whole_number(last->live_bytes),
                               .live_usable = whole_number(last->live_bytes),
                               .live_count = whole_number(last->live_blocks),
                               .allocated_bytes = whole_number(last->all_bytes),
                               .allocated_usable = whole_number(last->all_bytes),
                               .allocated_count = whole_number(last->all_blocks)};
    if (!compared)
        return;
    total->peak_bytes = whole_number(of[0].live_bytes);
    total->peak_count = whole_number(of[0].live_blocks);
    total->temporary_bytes = whole_number(of[0].all_bytes);
    total->temporary_count = whole_number(of[0].all_blocks);
}

// `rounding`: what two formats may make of one number.
static bool differs(const struct hs_total *total, uint64_t rounding)
{
    return hs_number__distance(total->live_bytes, total->peak_bytes) > rounding ||
           hs_number__distance(total->live_count, total->peak_count) > rounding ||
           hs_number__distance(total->allocated_bytes, total->temporary_bytes) > rounding ||
           hs_number__distance(total->allocated_count, total->temporary_count) > rounding;
}

// Values that only one of the two dumps has cannot be compared.
static void forget(struct hs_total *total, bool blocks, bool all)
{
    if (!all)
        total->allocated_bytes = total->temporary_bytes = 0;
    if (!all || !blocks)
        total->allocated_count = total->temporary_count = 0;
    if (!blocks)
        total->live_count = total->peak_count = 0;
}

static bool is_empty(const struct hs_total *total)
{
    return !total->live_bytes && !total->live_count && !total->allocated_bytes && !total->allocated_count;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct hs_total *a = left;
    const struct hs_total *b = right;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int make_totals(const struct totals_adding *adding, struct hs_totals *totals)
{
    const struct hs_dump *first = dump_of(adding, 0);
    const struct hs_dump *last = dump_of(adding, adding->dumps - 1);
    const bool compared = adding->dumps > 1;
    uint64_t rounding = first->sampling == last->sampling ? 0 : 1;
    *totals = (struct hs_totals){.total = calloc(adding->count + 1, sizeof(struct hs_total))};
    if (!totals->total)
        return -ENOMEM;
    for (size_t i = 0; i < adding->count; i++) {
        struct hs_total *total = &totals->total[totals->count];
        total->stack = adding->sums[i].stack;
        round_sums(total, adding->sums[i].of, compared);
        forget(total, first->has_blocks && last->has_blocks, first->has_all && last->has_all);
        totals->count += compared ? differs(total, rounding) : !is_empty(total);
    }
    if (totals->count)
        qsort(totals->total, totals->count, sizeof(*totals->total), compare_stacks);
    round_sums(&totals->sum, adding->whole, compared);
    forget(&totals->sum, first->has_blocks && last->has_blocks, first->has_all && last->has_all);
    return 0;
}

static void add_dump(struct totals_adding *adding, unsigned which, const struct hs_dump_choice *choice)
{
    const struct hs_dump *dump = dump_of(adding, which);
    const uint32_t *nodes = adding->view->nodes[adding->dump[which]];
    const struct hs_set *stacks = choice ? choice->stacks : NULL;
    bool by_thread = choice && choice->threads;
    for (size_t i = 0; !by_thread && i < dump->context_count; i++) {
        if (!stacks || hs_set__has(stacks, nodes[i]))
            add_counts(adding, which, i, &dump->context[i].counts);
    }
    for (size_t i = 0; by_thread && i < dump->share_count; i++) {
        const struct hs_dump_share *share = &dump->share[i];
        if (choice->threads[share->thread] && (!stacks || hs_set__has(stacks, nodes[share->context])))
            add_counts(adding, which, share->context, &share->counts);
    }
}

static int add_up(struct totals_adding *adding, const struct hs_dump_choice *choice, struct hs_totals *totals)
{
    int result = start(adding);
    for (unsigned which = 0; !result && which < adding->dumps; which++)
        add_dump(adding, which, choice);
    if (!result)
        result = make_totals(adding, totals);
    finish(adding);
    return result;
}

int hs_dump_view__totals(const struct hs_dump_view *view, unsigned which, const struct hs_dump_choice *choice,
                         struct hs_totals *totals)
{
    struct totals_adding adding = {.view = view, .dump = {which}, .dumps = 1};
    return add_up(&adding, choice, totals);
}

int hs_dump_view__add_up(struct hs_dump_view *view, const struct hs_dump_choice *choice)
{
    hs_totals__free(&view->subject.totals);
    return hs_dump_view__totals(view, 0, choice, &view->subject.totals);
}

int hs_dump_view__compare(struct hs_dump_view *view)
{
    struct totals_adding adding = {.view = view, .dump = {0, 1}, .dumps = 2};
    hs_totals__free(&view->subject.totals);
    const int result = hs_dump_view__find_alike(view);
    return result ? result : add_up(&adding, NULL, &view->subject.totals);
}

int hs_dump_view__by_thread(const struct hs_dump_view *view, const struct hs_dump_choice *choice,
                            struct hs_total *totals)
{
    const struct hs_dump *dump = view->dumps[0];
    struct hs_dump_estimate *sum = calloc(dump->thread_count + 1, sizeof(*sum));
    if (!sum)
        return -ENOMEM;
    for (size_t i = 0; i < dump->share_count; i++) {
        const struct hs_dump_share *share = &dump->share[i];
        if ((!choice->threads || choice->threads[share->thread]) &&
            (!choice->stacks || hs_set__has(choice->stacks, view->nodes[0][share->context])))
            hs_dump_estimate__add(&sum[share->thread], hs_dump__estimate(dump, &share->counts));
    }
    for (size_t i = 0; i < dump->thread_count; i++) {
        round_sums(&totals[i], &sum[i], false);
        forget(&totals[i], dump->has_blocks, dump->has_all);
    }
    free(sum);
    return 0;
}
