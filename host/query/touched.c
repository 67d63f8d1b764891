// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/search.h"
#include "host/query/page_set.h"
#include "host/query/samples.h"
#include "host/query/usage.h"

#include <stdlib.h>

// Between the clock of the kernel's samples and that of the blocks.
#define SLACK_NS 20000

// Pages that became resident: [start, end), from the first to the last.
struct touched_run {
    uint64_t start, end, first, last;
};

struct hs_touching {
    const struct hs_store *store;
    struct touched_run *run; // by start
    uint64_t *reach;         // the largest end of the runs up to this one
    size_t count;
    uint64_t page;
    uint64_t *mapped_at; // by mapping (detail of rows): when it was made
    size_t mappings;
    struct hs_page_set resident; // at the end
};

static int compare_runs(const void *left, const void *right)
{
    const struct touched_run *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static void collect_runs(struct hs_touching *touching, const struct hs_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t start = samples[i].address & ~(touching->page - 1);
        if (samples[i].kind == HS_SAMPLE_FAULT && samples[i].weight <= UINT64_MAX - samples[i].address)
            touching->run[touching->count++] = (struct touched_run){
                start, start + samples[i].weight,
                samples[i].time > samples[i].duration ? samples[i].time - samples[i].duration : 0, samples[i].time};
    }
    qsort(touching->run, touching->count, sizeof *touching->run, compare_runs);
    uint64_t reach = 0;
    for (size_t i = 0; i < touching->count; i++) {
        reach = touching->run[i].end > reach ? touching->run[i].end : reach;
        touching->reach[i] = reach;
    }
}

static int note_mapping(void *context, const struct hs_store *store, uint64_t row)
{
    struct hs_touching *touching = context;
    const struct hs_columns *columns = hs_store__columns(store);
    uint32_t detail = hs_row__detail(columns, row);
    if (detail < touching->mappings && touching->mapped_at[detail] == HS_NEVER)
        touching->mapped_at[detail] = hs_row__time(columns, row);
    return 0;
}

// Rows are in the order of time: the first of a mapping is the whole one.
static bool find_mappings(struct hs_touching *touching)
{
    struct hs_filter filter;
    hs_filter__init(&filter);
    filter.domains = HS_FILTER_MAP;
    filter.kinds = 1u << HS_KIND_MMAP;
    hs_store__mappings(touching->store, &touching->mappings);
    touching->mapped_at = calloc(touching->mappings + 1, sizeof *touching->mapped_at);
    for (size_t i = 0; touching->mapped_at && i < touching->mappings; i++)
        touching->mapped_at[i] = HS_NEVER;
    return touching->mapped_at && !hs_query__each(touching->store, &filter, NULL, note_mapping, touching, NULL);
}

struct hs_touching *hs_touching__create(const struct hs_store *store)
{
    size_t count;
    const struct hs_sample *samples = hs_store__samples(store, &count);
    struct hs_touching *touching = calloc(1, sizeof(*touching));
    if (!touching)
        return NULL;
    touching->store = store;
    touching->page = hs_store__page_size(store);
    touching->run = calloc(count + 1, sizeof *touching->run);
    touching->reach = calloc(count + 1, sizeof *touching->reach);
    if (touching->run && touching->reach && find_mappings(touching) &&
        !hs_query__resident_pages(store, HS_NEVER, NULL, &touching->resident, NULL)) {
        collect_runs(touching, samples, count);
        return touching;
    }
    hs_touching__destroy(touching);
    return NULL;
}

void hs_touching__destroy(struct hs_touching *touching)
{
    if (!touching)
        return;
    free(touching->run);
    free(touching->reach);
    free(touching->mapped_at);
    hs_page_set__free(&touching->resident);
    free(touching);
}

// The first run that may reach behind `address`.
static size_t first_run(const struct hs_touching *touching, uint64_t address)
{
    return HS_SEARCH(touching->count, i, touching->reach[i] <= address);
}

struct touched_block {
    uint64_t start, end; // addresses
    uint64_t since;      // pages that were touched before do not count
    uint64_t until;
};

// The end of the first page of the run: a single fault makes one page resident, possibly a huge one.
static uint64_t end_of_first_page(const struct hs_touching *touching, const struct touched_run *run)
{
    return run->first == run->last ? run->end : run->start + touching->page;
}

// The allocator writes its own data in front of a block before the block exists.
static bool begins_in_first_page(const struct hs_touching *touching, const struct touched_block *block,
                                 const struct touched_run *run)
{
    return run->start <= block->start && block->start < end_of_first_page(touching, run);
}

static bool counts(const struct hs_touching *touching, const struct touched_block *block, const struct touched_run *run)
{
    return run->first <= block->until && (run->last >= block->since || begins_in_first_page(touching, block, run));
}

static uint64_t touched_bytes(const struct hs_touching *touching, const struct touched_block *block)
{
    uint64_t bytes = 0, at = block->start;
    for (size_t i = first_run(touching, at); i < touching->count && at < block->end; i++) {
        const struct touched_run *run = &touching->run[i];
        if (run->start >= block->end)
            break;
        if (run->end <= at || !counts(touching, block, run))
            continue;
        uint64_t from = run->start > at ? run->start : at;
        uint64_t to = run->end < block->end ? run->end : block->end;
        uint64_t first_end = end_of_first_page(touching, run);
        if (run->last < block->since)
            to = to < first_end ? to : first_end;
        bytes += to > from ? to - from : 0;
        at = to > at ? to : at;
    }
    return bytes;
}

// From when on pages of a row with a mapping of its own count: what is left of a mapping is as old as the mapping.
static uint64_t begin_of(const struct hs_touching *touching, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(touching->store);
    uint64_t time = hs_row__time(columns, row);
    uint32_t detail = hs_row__detail(columns, row);
    uint8_t kind = hs_row__kind(columns, row);
    if (hs_row__flags(columns, row) & HS_ROW_SPLIT && kind == HS_KIND_BRK)
        return 0;
    bool is_older = kind == HS_KIND_MREMAP || hs_row__flags(columns, row) & HS_ROW_SPLIT;
    if (is_older && detail < touching->mappings && touching->mapped_at[detail] < time)
        time = touching->mapped_at[detail];
    return time > SLACK_NS ? time - SLACK_NS : 0;
}

static uint64_t faulted_bytes(const struct hs_touching *touching, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(touching->store);
    uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
    uint64_t end = hs_row__free_time(columns, row);
    struct touched_block block = {.start = address, .end = size > UINT64_MAX - address ? UINT64_MAX : address + size};
    if (hs_own_mapping__is_one(hs_row__kind(columns, row), address, size, touching->page))
        block.since = begin_of(touching, row);
    block.until = end > UINT64_MAX - SLACK_NS ? end : end + SLACK_NS;
    return touched_bytes(touching, &block);
}

// Its bytes on pages that are resident at the end.
static uint64_t resident_bytes(const struct hs_touching *touching, uint64_t address, uint64_t size)
{
    const struct hs_page_set *pages = &touching->resident;
    uint64_t page = touching->page, last = size > UINT64_MAX - address ? UINT64_MAX : address + size;
    uint64_t first = address / page, end = last / page + (last % page != 0);
    uint64_t bytes = hs_page_set__count(pages, first, end) * page;
    if (bytes && hs_page_set__has(pages, first))
        bytes -= address % page;
    if (bytes && last % page && hs_page_set__has(pages, end - 1))
        bytes -= page - last % page;
    return bytes;
}

// Pages came with it from another place, or from an earlier size.
static bool goes_on(const struct hs_columns *columns, uint64_t row)
{
    uint8_t kind = hs_row__kind(columns, row);
    return kind == HS_KIND_MREMAP || kind == HS_KIND_REALLOC || (hs_row__flags(columns, row) & HS_ROW_SPLIT);
}

uint64_t hs_touching__resident(const struct hs_touching *touching, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(touching->store);
    if (hs_row__free_time(columns, row) != HS_NEVER)
        return 0;
    uint64_t resident = resident_bytes(touching, hs_row__address(columns, row), hs_row__size(columns, row));
    if (goes_on(columns, row) && hs_row__has_own_mapping(touching->store, row))
        return resident;
    uint64_t faulted = faulted_bytes(touching, row);
    return resident < faulted ? resident : faulted;
}

uint64_t hs_touching__bytes(const struct hs_touching *touching, uint64_t row)
{
    uint64_t faulted = faulted_bytes(touching, row), resident = hs_touching__resident(touching, row);
    return resident > faulted ? resident : faulted;
}
