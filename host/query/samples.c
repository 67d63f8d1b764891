// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_MAPPING_SIZE = 128 << 10, OWN_MAPPING_OFFSET = 32, FALLBACK_PAGE = 4096 };

// Between the clock of the kernel's samples and that of the blocks.
#define SLACK_NS 20000

// ---- sums by stack
// ----------------------------------------------------------------------------------------------------

// A sum for every node that may be a stack; those without anything are left out at the end.
static struct hs_total *start_totals(const struct hs_store *store, size_t *count)
{
    hs_store__nodes(store, count);
    return calloc(*count + 1, sizeof(struct hs_total));
}

static void finish_totals(struct hs_total *all, size_t count, struct hs_totals *totals)
{
    *totals = (struct hs_totals){.total = all};
    for (size_t stack = 0; stack <= count; stack++) {
        struct hs_total *total = &all[stack];
        if (!total->allocated_count)
            continue;
        total->stack = (uint32_t)stack;
        totals->sum.allocated_bytes += total->allocated_bytes;
        totals->sum.allocated_count += total->allocated_count;
        totals->sum.peak_bytes += total->peak_bytes;
        totals->sum.live_bytes += total->live_bytes;
        totals->sum.live_usable += total->live_usable;
        totals->sum.live_count += total->live_count;
        all[totals->count++] = *total;
    }
}

static bool is_asked_for(const struct hs_filter *filter, const struct hs_sample *sample)
{
    return !filter || (sample->time >= filter->time_min && sample->time <= filter->time_max &&
                       (!filter->stacks.words || hs_set__has(&filter->stacks, sample->stack)));
}

int hs_query__sample_totals(const struct hs_store *store, uint32_t kind, const struct hs_filter *filter,
                            struct hs_totals *totals, struct hs_error *error)
{
    size_t nodes, count;
    const struct hs_sample *samples = hs_store__samples(store, &count);
    struct hs_total *all = start_totals(store, &nodes);
    if (!all)
        return hs_error__set(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (samples[i].kind != kind || samples[i].stack > nodes || !is_asked_for(filter, &samples[i]))
            continue;
        all[samples[i].stack].allocated_bytes += samples[i].weight;
        all[samples[i].stack].allocated_count++;
    }
    finish_totals(all, nodes, totals);
    return 0;
}

// ---- touched
// ------------------------------------------------------------------------------------------------------------

// Pages that became resident: [start, end), from the first to the last.
struct run {
    uint64_t start, end, first, last;
};

struct touching {
    struct run *run; // by start
    uint64_t *reach; // the largest end of the runs up to this one
    size_t count;
    uint64_t page;
    struct hs_total *all;
    size_t nodes;
};

static int compare_runs(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static uint64_t page_size(const struct hs_store *store)
{
    const char *text = hs_store__info(store, "page-size");
    uint64_t page = text ? strtoull(text, NULL, 10) : 0;
    return page && !(page & (page - 1)) ? page : FALLBACK_PAGE;
}

static bool collect_runs(struct touching *touching, const struct hs_store *store)
{
    size_t count;
    const struct hs_sample *samples = hs_store__samples(store, &count);
    touching->page = page_size(store);
    touching->run = calloc(count + 1, sizeof *touching->run);
    touching->reach = calloc(count + 1, sizeof *touching->reach);
    touching->all = start_totals(store, &touching->nodes);
    if (!touching->run || !touching->reach || !touching->all)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = samples[i].address & ~(touching->page - 1);
        if (samples[i].kind == HS_SAMPLE_FAULT && samples[i].weight <= UINT64_MAX - samples[i].address)
            touching->run[touching->count++] = (struct run){
                start, start + samples[i].weight,
                samples[i].time > samples[i].duration ? samples[i].time - samples[i].duration : 0, samples[i].time};
    }
    qsort(touching->run, touching->count, sizeof *touching->run, compare_runs);
    uint64_t reach = 0;
    for (size_t i = 0; i < touching->count; i++) {
        reach = touching->run[i].end > reach ? touching->run[i].end : reach;
        touching->reach[i] = reach;
    }
    return true;
}

// The first run that may reach behind `address`.
static size_t first_run(const struct touching *touching, uint64_t address)
{
    size_t low = 0, high = touching->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (touching->reach[middle] > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct block {
    uint64_t start, end; // addresses
    uint64_t since;      // pages that were touched before do not count
    uint64_t until;
};

// What the allocator itself writes in front of the block it writes before the block is there.
static bool counts(const struct touching *touching, const struct block *block, const struct run *run)
{
    bool first_page = run->start <= block->start && block->start - run->start < touching->page;
    return run->first <= block->until && (run->last >= block->since || first_page);
}

static uint64_t touched_bytes(const struct touching *touching, const struct block *block)
{
    uint64_t bytes = 0, at = block->start;
    for (size_t i = first_run(touching, at); i < touching->count && at < block->end; i++) {
        const struct run *run = &touching->run[i];
        if (run->start >= block->end)
            break;
        if (run->end <= at || !counts(touching, block, run))
            continue;
        uint64_t from = run->start > at ? run->start : at;
        uint64_t to = run->end < block->end ? run->end : block->end;
        if (run->last < block->since)
            to = to < run->start + touching->page ? to : run->start + touching->page;
        bytes += to > from ? to - from : 0;
        at = to > at ? to : at;
    }
    return bytes;
}

static bool has_own_mapping(const struct touching *touching, uint8_t kind, uint64_t address, uint64_t size)
{
    return hs_kind_domain(kind) == HS_DOMAIN_MAP ||
           (size >= OWN_MAPPING_SIZE && (address & (touching->page - 1)) <= OWN_MAPPING_OFFSET);
}

static int add_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct touching *touching = context;
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
    uint64_t time = hs_row__time(columns, row), end = hs_row__free_time(columns, row);
    uint32_t stack = hs_row__stack(columns, row);
    struct block block = {.start = address, .end = size > UINT64_MAX - address ? UINT64_MAX : address + size};
    if (has_own_mapping(touching, hs_row__kind(columns, row), address, size))
        block.since = time > SLACK_NS ? time - SLACK_NS : 0;
    block.until = end > UINT64_MAX - SLACK_NS ? end : end + SLACK_NS;
    struct hs_total *total = &touching->all[stack <= touching->nodes ? stack : 0];
    uint64_t touched = touched_bytes(touching, &block);
    total->allocated_bytes += size;
    total->allocated_count++;
    total->peak_bytes += touched;
    if (end != HS_NEVER)
        return 0;
    total->live_bytes += touched;
    total->live_usable += size;
    total->live_count++;
    return 0;
}

int hs_query__touched(const struct hs_store *store, const struct hs_filter *filter,
                      const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error)
{
    struct touching touching = {0};
    *totals = (struct hs_totals){0};
    int failed = 0;
    if (!collect_runs(&touching, store))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    if (!failed)
        failed = hs_query__each(store, filter, control, add_row, &touching, error);
    if (!failed)
        finish_totals(touching.all, touching.nodes, totals);
    else
        free(touching.all);
    free(touching.run);
    free(touching.reach);
    return failed;
}
