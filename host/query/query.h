// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions to a store. One filter type for all of them; each question runs over the store's blocks in parallel, skips
// the blocks that cannot match, reports progress and can be cancelled.
#ifndef HEAPSONDE_QUERY_QUERY_H
#define HEAPSONDE_QUERY_QUERY_H

#include "host/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A set of small numbers (stacks, streams): bit n of the words is member n; numbers beyond `count` are not members.
struct hs_set {
    const uint64_t *words;
    size_t count;
};
static inline bool hs_set__has(const struct hs_set *set, uint64_t n)
{
    return n < set->count && (set->words[n / 64] >> (n % 64) & 1);
}

struct hs_time_range {
    uint64_t first, last;
};

struct hs_filter;

// Filters joined by AND, OR and NOT. A node comes after its operands; the last node is the whole expression. Filters of
// nodes apply to all domains.
enum hs_filter_join { HS_FILTER_IS, HS_FILTER_NOT, HS_FILTER_AND, HS_FILTER_OR };
struct hs_filter_node {
    enum hs_filter_join join;
    uint32_t left, right;           // of AND and OR; NOT: left
    const struct hs_filter *filter; // IS
};

// Conditions combine with AND. All ranges include both ends; an unused range spans everything.
// Initialise it with hs_filter__init, which matches every row of the heap domain, then narrow it. A question without a
// filter (NULL) is about the heap domain.
struct hs_filter {
    uint64_t time_min, time_max; // allocated within
    uint64_t free_min, free_max; // freed within (never freed = HS_NEVER)
    uint64_t size_min, size_max; // requested
    uint64_t address_min, address_max;
    uint64_t lifetime_min, lifetime_max; // never freed: until the end of the trace
    bool unfreed_live_forever;           // no: never freed is the longest lifetime of all
    // Allocated within one of these, which are in order and do not overlap; NULL: any time.
    const struct hs_time_range *times;
    size_t time_count;
    uint64_t alive_at[2]; // time <= T and free_time > T, for the first alive_count of them
    unsigned alive_count;
    uint32_t domains;               // bit per enum hs_domain; HS_FILTER_HEAP by default
    uint32_t kinds;                 // bit per enum hs_row_kind
    uint32_t flags_all, flags_none; // HS_ROW_*: all of these, none of those
    bool freed_only, never_freed_only;
    bool chain_never_freed_only;                // the last block of its chain was never freed
    bool not_own_thread_only;                   // freed by another thread than the one that allocated
    struct hs_set stacks, free_stacks, streams; // words == NULL: any
    const uint32_t *tids;                       // with streams: threads of samples that are not streams
    size_t tid_count;
    uint32_t chain_length_min, chain_length_max; // a block in no chain has length 1
    uint32_t position_min, position_max;
    uint64_t first_size_min, first_size_max; // of the first and the last block of the chain
    uint64_t last_size_min, last_size_max;
    uint64_t chain_lifetime_min, chain_lifetime_max;
    uint32_t detail; // pool index when detail_given
    bool detail_given;
    const struct hs_filter_node *where; // NULL: anything
    uint32_t where_count;
    bool (*accept)(void *context, const struct hs_store *store, uint64_t row); // last and slowest; any thread
    void *context;
};
#define HS_FILTER_HEAP (1u << HS_DOMAIN_HEAP)
#define HS_FILTER_POOL (1u << HS_DOMAIN_POOL)
#define HS_FILTER_MAP  (1u << HS_DOMAIN_MAP)

void hs_filter__init(struct hs_filter *filter);
bool hs_filter__matches(const struct hs_filter *filter, const struct hs_store *store, uint64_t row);

struct hs_indexes;
struct hs_explanation;

// How a question runs. NULL means: all processors, no progress, not cancellable.
struct hs_query_control {
    unsigned threads;  // 0: as many as the machine has
    const int *cancel; // the question ends with -ECANCELED soon after this becomes not 0; may be NULL
    void (*progress)(void *context, uint64_t rows_done, uint64_t rows); // called from the asking thread; may be NULL
    void *context;
    const struct hs_indexes *indexes;   // (host/query/indexes.h) of this or another store; may be NULL
    struct hs_explanation *explanation; // gets what answered each question (host/query/planner.h); may be NULL
    // For single-pass readers of large traces: drops the pages of columns that were read. Reading them again costs page
    // faults.
    bool drops_pages;
};

// ---- per-stack totals ----------------------------------------------------------------------------------------------

// Sums over matching rows. live: not freed at the end of the trace. peak: live at the heap's global peak.
struct hs_total {
    uint32_t stack;
    uint32_t reserved;
    uint64_t allocated_bytes, allocated_usable, allocated_count;
    uint64_t live_bytes, live_usable, live_count;
    uint64_t peak_bytes, peak_usable, peak_count;
    uint64_t temporary_bytes, temporary_count;
    uint64_t freed_bytes, freed_count;
    uint64_t culled_bytes, culled_count; // of the allocated and freed ones: those that the recorder only summed up
    uint64_t size_min, size_max;         // requested; min > max when there is no row
    uint64_t first_time, last_time;      // of allocation
    uint64_t lifetime_min, lifetime_max; // of the freed ones; min > max when none was freed
    uint64_t lifetime_sum;               // ns; INT64_MAX where it is more than that
};

// Sums of lifetimes are the ones that real programs can take beyond 64 bits.
static inline uint64_t hs_lifetimes__add(uint64_t a, uint64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : (uint64_t)sum;
}

struct hs_totals {
    struct hs_total sum;    // over all stacks
    struct hs_total *total; // one per stack that has a matching row, by stack id
    size_t count;
};

// Allocations that the recorder culled are part of the totals if the filter tests only stacks: their single times,
// sizes and threads are not known. A trace of sums (hs_summary.is_aggregate) has only such allocations: it has totals,
// a peak and the timeline of the whole heap, and refuses every other question with -ENOTSUP.
int hs_query__totals(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error);
void hs_totals__free(struct hs_totals *totals);

// Adds a total to another one, except the stack.
void hs_total__add(struct hs_total *to, const struct hs_total *from);
// Appends a total to totals that have room for it.
static inline int hs_totals__take(void *to, const struct hs_total *total)
{
    struct hs_totals *totals = to;
    totals->total[totals->count++] = *total;
    hs_total__add(&totals->sum, total);
    return 0;
}
// Makes totals of an instant: the allocated and the peak numbers become the live ones.
void hs_total__take_live(struct hs_total *total);
enum hs_total_key {
    HS_TOTAL_LIVE_BYTES,
    HS_TOTAL_LIVE_COUNT,
    HS_TOTAL_PEAK_BYTES,
    HS_TOTAL_PEAK_COUNT,
    HS_TOTAL_ALLOCATED_BYTES,
    HS_TOTAL_ALLOCATED_COUNT,
    HS_TOTAL_TEMPORARY_BYTES,
    HS_TOTAL_TEMPORARY_COUNT,
    HS_TOTAL_STACK
};
uint64_t hs_total__value(const struct hs_total *total, enum hs_total_key key);
// Largest first (HS_TOTAL_STACK: smallest id first); ties by stack id.
void hs_totals__sort(struct hs_totals *totals, enum hs_total_key key);

// ---- rows ----------------------------------------------------------------------------------------------------------

int hs_query__count(const struct hs_store *store, const struct hs_filter *filter,
                    const struct hs_query_control *control, uint64_t *count, struct hs_error *error);

enum hs_row_key { HS_ROW_BY_TIME, HS_ROW_BY_ADDRESS, HS_ROW_BY_SIZE, HS_ROW_BY_LIFETIME };
struct hs_rows {
    uint64_t total; // matching rows before skip and limit
    uint32_t *row;
    size_t count;
};
// The page [skip, skip + limit) of the matching rows in the order of `key`; ties by row number. `descending` is the
// exact reverse. limit UINT64_MAX: all.
int hs_query__rows(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key key, bool descending,
                   uint64_t skip, uint64_t limit, const struct hs_query_control *control, struct hs_rows *rows,
                   struct hs_error *error);
void hs_rows__free(struct hs_rows *rows);

// Calls `visit` for each matching row in row order, from this thread. A value other than 0 stops and is returned.
int hs_query__each(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   int (*visit)(void *context, const struct hs_store *store, uint64_t row), void *context,
                   struct hs_error *error);

// ---- over time -----------------------------------------------------------------------------------------------------

// `points` equal intervals of [from, to]; point i covers from + i * width .. The maxima are exact.
// Without a filter (NULL) and with a coarse enough width the store's pyramid answers at once: then the width is rounded
// up, and the beginning of a long part is rounded down by at most an eighth of the width.
struct hs_timeline {
    uint64_t from;
    uint64_t width;
    struct hs_timeline_point *point;
    size_t count;
};
int hs_query__timeline(const struct hs_store *store, const struct hs_filter *filter, uint64_t from, uint64_t to,
                       size_t points, const struct hs_query_control *control, struct hs_timeline *timeline,
                       struct hs_error *error);
void hs_timeline__free(struct hs_timeline *timeline);

// Exact maximum of the live requested bytes of the matching rows, and when it was first reached. Of sums: what the
// matching stacks had at the highest tick of the whole heap.
int hs_query__peak(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   struct hs_live_total *peak, uint64_t *time, struct hs_error *error);

// The maximum of the live requested bytes of each stack's heap blocks, and when it was first reached.
struct hs_stack_peak {
    uint64_t bytes, time;
};
// 0 at 0 if it has no heap rows. A trace of sums does not have it.
struct hs_stack_peak hs_query__stack_peak(const struct hs_store *store, uint32_t stack);

#endif
