// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/budget.h"

#include "host/base/numbers.h"
#include "host/filter/allocator.h"
#include "host/filter/main_heap.h"
#include "host/query/page_set.h"
#include "host/query/samples.h"
#include "host/query/usage.h"

#include <errno.h>

// The stack of the main thread lies above all libraries, and far from everything else there.
#define STACK_SPAN ((uint64_t)1 << 30)

enum { FEW_PAGES = 1024 };

struct budget_pages {
    uint64_t page, time;
    struct hs_page_set heap;
    struct hs_page_set left;       // those that belong to nothing yet
    uint64_t last_first, last_end; // pages of the last block, which need not be looked at again
};

static uint64_t end_of(uint64_t address, uint64_t size)
{
    return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

static uint64_t page_behind(const struct budget_pages *pages, uint64_t address)
{
    return address / pages->page + (address % pages->page != 0);
}

// ---- pages of the heap ---------------------------------------------------------------------------------------------

static bool move_range(struct hs_page_set *from, struct hs_page_set *to, uint64_t first, uint64_t end)
{
    if (!hs_page_set__count(from, first, end))
        return true;
    if (!hs_page_set__add_members(to, from, first, end))
        return false;
    hs_page_set__remove(from, first, end);
    return true;
}

// The same, faster for few pages.
static bool move_pages(struct hs_page_set *from, struct hs_page_set *to, uint64_t first, uint64_t end)
{
    if (end - first > FEW_PAGES)
        return move_range(from, to, first, end);
    if (!hs_page_set__count(from, first, end))
        return true;
    for (uint64_t page = first; page < end; page++) {
        if (!hs_page_set__has(from, page))
            continue;
        if (!hs_page_set__add(to, page, page + 1))
            return false;
        hs_page_set__remove(from, page, page + 1);
    }
    return true;
}

// A new mapping replaces what was mapped there before.
static int take_mapping(struct budget_pages *pages, const struct hs_columns *columns, uint64_t row, uint64_t first,
                        uint64_t end)
{
    if (hs_row__kind(columns, row) != HS_KIND_MMAP || hs_row__flags(columns, row) & HS_ROW_SPLIT)
        return 0;
    pages->last_first = pages->last_end = 0;
    return move_range(&pages->heap, &pages->left, first, end) ? 0 : -ENOMEM;
}

// In the order of time.
static int take_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct budget_pages *pages = context;
    const struct hs_columns *columns = hs_store__columns(store);
    const uint64_t address = hs_row__address(columns, row);
    const uint64_t first = address / pages->page;
    const uint64_t end = page_behind(pages, end_of(address, hs_row__size(columns, row)));
    if (hs_kind_domain(hs_row__kind(columns, row)) == HS_DOMAIN_MAP)
        return take_mapping(pages, columns, row, first, end);
    if (first >= pages->last_first && end <= pages->last_end)
        return 0;
    if (hs_row__free_time(columns, row) <= pages->time && hs_row__has_own_mapping(store, row))
        return 0; // its pages went with it
    pages->last_first = first;
    pages->last_end = end;
    return move_pages(&pages->left, &pages->heap, first, end) ? 0 : -ENOMEM;
}

// The blocks of the main heap need not be looked at one by one.
static int find_heap(struct budget_pages *pages, const struct hs_store *store, const struct hs_query_control *control,
                     struct hs_error *error)
{
    struct hs_main_heap main_heap;
    struct hs_filter filter;
    int result = 0;
    hs_main_heap__find(store, &main_heap);
    hs_filter__init(&filter);
    filter.domains = HS_FILTER_HEAP | HS_FILTER_MAP;
    filter.time_max = pages->time;
    if (main_heap.from < main_heap.to &&
        !move_range(&pages->left, &pages->heap, page_behind(pages, main_heap.from), main_heap.to / pages->page))
        return hs_error__set(error, ENOMEM, "out of memory");
    if (main_heap.from) {
        filter.address_max = main_heap.from - 1;
        result = hs_query__each(store, &filter, control, take_row, pages, error);
    }
    filter.address_max = UINT64_MAX;
    filter.address_min = main_heap.to;
    return result ? result : hs_query__each(store, &filter, control, take_row, pages, error);
}

// ---- what is in them -----------------------------------------------------------------------------------------------

static uint64_t bytes_in_heap(const struct budget_pages *pages, uint64_t start, uint64_t end)
{
    if (start >= end)
        return 0;
    const uint64_t first = start / pages->page, last = (end - 1) / pages->page;
    if (first == last)
        return hs_page_set__has(&pages->heap, first) ? end - start : 0;
    uint64_t bytes = hs_page_set__count(&pages->heap, first, last + 1) * pages->page;
    if (hs_page_set__has(&pages->heap, first))
        bytes -= start % pages->page;
    if (hs_page_set__has(&pages->heap, last))
        bytes -= pages->page - 1 - (end - 1) % pages->page;
    return bytes;
}

// Words in front of a block in which glibc keeps its size.
static unsigned words_before(const struct hs_store *store, uint64_t row, bool is_glibc)
{
    return !is_glibc ? 0 : hs_allocator__is_mapped(store, row) ? 2 : 1;
}

// The live blocks in the order of their addresses. What one has is not counted again for the next: in a damaged trace,
// blocks overlap.
static int divide_heap(struct hs_budget *budget, const struct budget_pages *pages, const struct hs_store *store,
                       const struct hs_query_control *control, struct hs_error *error)
{
    const struct hs_columns *columns = hs_store__columns(store);
    const bool is_glibc = hs_allocator__of(store) == HS_ALLOCATOR_GLIBC;
    struct hs_filter filter;
    struct hs_rows rows;
    uint64_t at = 0;
    hs_filter__init(&filter);
    filter.alive_at[filter.alive_count++] = pages->time;
    int result = hs_query__rows(store, &filter, HS_ROW_BY_ADDRESS, false, 0, UINT64_MAX, control, &rows, error);
    for (size_t i = 0; !result && i < rows.count; i++) {
        const uint32_t row = rows.row[i];
        const uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
        const uint64_t head = words_before(store, row, is_glibc) * columns->pointer_size;
        const uint64_t begin = hs_number__most(at, address), end = end_of(address, size);
        const uint64_t usable_end = end_of(end, hs_row__slack_of(columns, row, size));
        budget->live += size;
        budget->part[HS_BUDGET_TOUCHED] += bytes_in_heap(pages, begin, end);
        budget->part[HS_BUDGET_ADDED] +=
            bytes_in_heap(pages, hs_number__most(at, address - (head < address ? head : 0)), address) +
            bytes_in_heap(pages, hs_number__most(at, end), usable_end);
        at = hs_number__most(at, usable_end);
    }
    if (!result)
        hs_rows__free(&rows);
    budget->part[HS_BUDGET_FREED] =
        pages->heap.count * pages->page - budget->part[HS_BUDGET_TOUCHED] - budget->part[HS_BUDGET_ADDED];
    return result;
}

// ---- other pages ---------------------------------------------------------------------------------------------------

struct budget_taking {
    struct hs_budget *budget;
    struct budget_pages *pages;
};

static void take(struct hs_budget *budget, struct budget_pages *pages, enum hs_budget_part part, uint64_t first,
                 uint64_t end)
{
    budget->part[part] += hs_page_set__count(&pages->left, first, end) * pages->page;
    hs_page_set__remove(&pages->left, first, end);
}

static int take_live_mapping(void *context, const struct hs_store *store, uint64_t row)
{
    const struct budget_taking *taking = context;
    const struct hs_columns *columns = hs_store__columns(store);
    const uint64_t address = hs_row__address(columns, row);
    take(taking->budget, taking->pages, HS_BUDGET_MAPPED, address / taking->pages->page,
         page_behind(taking->pages, end_of(address, hs_row__size(columns, row))));
    return 0;
}

static int take_mappings(struct hs_budget *budget, struct budget_pages *pages, const struct hs_store *store,
                         const struct hs_query_control *control, struct hs_error *error)
{
    struct budget_taking taking = {budget, pages};
    struct hs_filter filter;
    hs_filter__init(&filter);
    filter.domains = HS_FILTER_MAP;
    filter.alive_at[filter.alive_count++] = pages->time;
    return hs_query__each(store, &filter, control, take_live_mapping, &taking, error);
}

// The end of the highest resident page that is left; 0: there is none.
static uint64_t highest_end(const struct budget_pages *pages)
{
    uint64_t low = 0, high = UINT64_MAX / pages->page + 1;
    while (pages->left.count && high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (hs_page_set__count(&pages->left, middle, high))
            low = middle;
        else
            high = middle;
    }
    return pages->left.count ? high : 0;
}

// A stack is noted some time after it was touched, and lies where it was before.
static int take_stacks(struct hs_budget *budget, struct budget_pages *pages, const struct hs_store *store,
                       const struct hs_query_control *control, struct hs_error *error)
{
    size_t count;
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (control && control->cancel && __atomic_load_n(control->cancel, __ATOMIC_RELAXED))
            return hs_error__set(error, ECANCELED, "cancelled");
        if (sample[i].kind != HS_SAMPLE_STACK_RANGE)
            continue;
        budget->has_stacks = true;
        take(budget, pages, HS_BUDGET_CODE, sample[i].address / pages->page,
             page_behind(pages, end_of(sample[i].address, sample[i].weight)));
    }
    return 0;
}

static int take_code(struct hs_budget *budget, struct budget_pages *pages, const struct hs_store *store,
                     const struct hs_query_control *control, struct hs_error *error)
{
    uint64_t above = 0;
    size_t count;
    const struct hs_module *modules = hs_store__modules(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (modules[i].load_time > pages->time || modules[i].unload_time <= pages->time)
            continue;
        take(budget, pages, HS_BUDGET_CODE, modules[i].start / pages->page, page_behind(pages, modules[i].end));
        if (*modules[i].path == '/') // the vdso may lie above the stack
            above = hs_number__most(above, page_behind(pages, modules[i].end));
    }
    const int result = take_stacks(budget, pages, store, control, error);
    const uint64_t end = highest_end(pages), span = STACK_SPAN / pages->page;
    if (above && end > above)
        take(budget, pages, HS_BUDGET_CODE, hs_number__most(above, end > span ? end - span : 0), end);
    return result;
}

// ---- all -----------------------------------------------------------------------------------------------------------

bool hs_budget__is_known(const struct hs_store *store)
{
    return hs_events__are_in(HS_EVENTS_TOUCHED, store);
}

int hs_budget__make(struct hs_budget *budget, const struct hs_store *store, uint64_t time,
                    const struct hs_query_control *control, struct hs_error *error)
{
    struct budget_pages pages = {.page = hs_store__page_size(store), .time = time};
    *budget = (struct hs_budget){.time = time};
    int result = hs_query__resident_pages(store, time, control, &pages.left, error);
    budget->resident = pages.left.count * pages.page;
    if (!result)
        result = find_heap(&pages, store, control, error);
    if (!result)
        result = divide_heap(budget, &pages, store, control, error);
    if (!result)
        result = take_mappings(budget, &pages, store, control, error);
    if (!result)
        result = take_code(budget, &pages, store, control, error);
    budget->part[HS_BUDGET_REST] = pages.left.count * pages.page;
    hs_page_set__free(&pages.heap);
    hs_page_set__free(&pages.left);
    return result;
}

int hs_budgets__make(struct hs_budgets *budgets, const struct hs_store *store, const struct hs_query_control *control,
                     struct hs_error *error)
{
    uint64_t time, bytes;
    int result = hs_query__resident_peak(store, control, &time, &bytes, error);
    if (!result)
        result = hs_budget__make(&budgets->peak, store, time, control, error);
    if (!result)
        result = hs_budget__make(&budgets->end, store, hs_store__summary(store)->end_time, control, error);
    return result;
}
