// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/planner.h"

#include "host/base/check.h"
#include "host/query/scan.h"
#include "host/query/stack_totals_column.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// ---- explanations --------------------------------------------------------------------------------------------------

static const struct {
    const char *name, *meaning;
} answered_by[HS_ANSWERED_BY_COUNT] = {
    [HS_BY_SCAN] = {"scan", "the blocks are read, except zones and parts that cannot match"},
    [HS_BY_SUMMARY] = {"summary", "the trace contains the result"},
    [HS_BY_PYRAMID] = {"pyramid", "the store contains sums of time intervals of the whole heap"},
    [HS_BY_TICKS] = {"ticks", "the trace contains sums, not single blocks"},
    [HS_BY_STACK_TOTALS] = {"stack_totals", "the store contains the totals of each stack"},
    [HS_BY_ROLLUPS] = {"rollups", "rollups by time are added; blocks are read at the ends of the time range"},
    [HS_BY_LIFETIME_ROLLUPS] = {"lifetime_rollups",
                                "rollups by lifetime are added; blocks are read at the ends of the range"},
    [HS_BY_DICTIONARY] = {"dictionary", "the filter is tested for each code"},
    [HS_BY_EVENT_LOG] = {"event_log", "codes of allocations and frees are read in the order of time"},
    [HS_BY_SORTED_INDEX] = {"sorted_index", "a sorted index is read at one place"},
    [HS_BY_PAGE_SCAN] = {"page_scan", "blocks are tested in order until the page is full"},
    [HS_BY_RANK_COUNTS] = {"rank_counts", "rank counts give the position of the page in the sorted index"},
    [HS_BY_SORTED_ROWS] = {"sorted_rows", "the few matching blocks are sorted and kept"},
    [HS_BY_ROW_SET] = {"row_set", "the set of all matching blocks is computed and kept"},
    [HS_BY_SAMPLES] = {"samples", "the samples are read"},
    [HS_BY_CACHE] = {"cache", "an earlier question has left the result"},
};

const char *hs_answered_by__name(enum hs_answered_by by)
{
    return answered_by[by].name;
}

const char *hs_answered_by__meaning(enum hs_answered_by by)
{
    return answered_by[by].meaning;
}

void hs_explanation__add(struct hs_explanation *explanation, const char *asked, enum hs_answered_by by)
{
    struct hs_explained part = {.by = by, .times = 1};
    if (!explanation)
        return;
    for (size_t i = 0; isalpha((unsigned char)asked[i]) && i < sizeof(part.asked) - 1; i++)
        part.asked[i] = asked[i];
    for (size_t i = 0; i < explanation->count; i++)
        if (explanation->part[i].by == by && !strcmp(explanation->part[i].asked, part.asked)) {
            explanation->part[i].times++;
            return;
        }
    if (explanation->count < HS_EXPLAINED_MOST)
        explanation->part[explanation->count++] = part;
    else
        explanation->more++;
}

void hs_query__explain(const struct hs_query_control *control, enum hs_asked asked, enum hs_answered_by by)
{
    static const char *const names[] = {
        [HS_ASKED_TOTALS] = "totals", [HS_ASKED_COUNT] = "count", [HS_ASKED_TIMELINE] = "timeline",
        [HS_ASKED_PEAK] = "peak",     [HS_ASKED_ROWS] = "rows",   [HS_ASKED_PAGE] = "page"};
    if (control)
        hs_explanation__add(control->explanation, names[asked > HS_ASKED_PAGE ? HS_ASKED_PAGE : asked], by);
}

// ---- the choice ----------------------------------------------------------------------------------------------------

// Whether the filter asks for nothing but keys of the sorted index.
static bool asks_only_keys(const struct hs_filter *filter, const struct hs_sorted_index *sorted_index,
                           struct hs_bounds *keys)
{
    struct hs_filter rest = *filter;
    if (!sorted_index || filter->domains != HS_FILTER_HEAP || filter->stacks.words)
        return false;
    if (hs_sorted_index__by(sorted_index) == HS_ROW_BY_ADDRESS) {
        *keys = (struct hs_bounds){filter->address_min, filter->address_max};
        rest.address_min = 0;
        rest.address_max = UINT64_MAX;
    } else {
        *keys = (struct hs_bounds){filter->lifetime_min, filter->lifetime_max};
        rest.lifetime_min = 0;
        rest.lifetime_max = UINT64_MAX;
        if (filter->unfreed_live_forever || !hs_sorted_index__has_lifetimes(sorted_index))
            return false;
    }
    return hs_filter__asks_only_stacks(&rest);
}

// Rollups by time know nothing of lifetimes, and the other way round.
static bool plan_rollups(struct hs_plan *plan, const struct hs_indexes *indexes, const struct hs_filter *filter)
{
    const struct hs_rollups *rollups = hs_index__load(indexes->rollups);
    const struct hs_sorted_index *lifetimes = hs_index__load(indexes->sorted_index[HS_ROW_BY_LIFETIME]);
    if (hs_rollups__know_lifetimes(rollups, lifetimes, indexes->store, filter))
        *plan = (struct hs_plan){.by = HS_BY_LIFETIME_ROLLUPS, .rollups = rollups, .sorted_index = lifetimes};
    else if (hs_rollups__know(rollups, indexes->store, filter))
        *plan = (struct hs_plan){.by = HS_BY_ROLLUPS, .rollups = rollups};
    return plan->rollups;
}

static void plan_count(struct hs_plan *plan, const struct hs_indexes *indexes, const struct hs_filter *filter)
{
    static const enum hs_row_key keys[] = {HS_ROW_BY_ADDRESS, HS_ROW_BY_LIFETIME};
    const struct hs_dictionary *dictionary = hs_index__load(indexes->dictionary);
    if (hs_dictionary__knows(dictionary, indexes->store, filter)) {
        *plan = (struct hs_plan){.by = HS_BY_DICTIONARY, .dictionary = dictionary};
        return;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct hs_sorted_index *sorted_index = hs_index__load(indexes->sorted_index[keys[i]]);
        if (asks_only_keys(filter, sorted_index, &plan->keys)) {
            plan->by = HS_BY_SORTED_INDEX;
            plan->sorted_index = sorted_index;
            return;
        }
    }
    plan_rollups(plan, indexes, filter);
}

static void plan_history(struct hs_plan *plan, const struct hs_indexes *indexes, const struct hs_filter *filter)
{
    const struct hs_event_log *events = hs_index__load(indexes->events);
    if (hs_event_log__suits(events, indexes->store, filter))
        *plan = (struct hs_plan){.by = HS_BY_EVENT_LOG, .events = events};
}

static void plan_page(struct hs_plan *plan, const struct hs_indexes *indexes, const struct hs_filter *filter,
                      enum hs_row_key key)
{
    if (filter->domains != HS_FILTER_HEAP)
        return;
    const struct hs_sorted_index *sorted_index = hs_index__load(indexes->sorted_index[key]);
    const struct hs_rank_counts *rank_counts = sorted_index ? hs_index__load(indexes->rank_counts[key]) : NULL;
    const bool is_known = rank_counts && hs_dictionary__knows(rank_counts->dictionary, indexes->store, filter);
    *plan = (struct hs_plan){.by = sorted_index ? HS_BY_SORTED_INDEX : HS_BY_SCAN,
                             .sorted_index = sorted_index,
                             .rank_counts = is_known ? rank_counts : NULL};
}

struct hs_plan hs_planner__choose(const struct hs_query_control *control, const struct hs_store *store,
                                  const struct hs_filter *filter, enum hs_asked asked)
{
    static const struct hs_indexes none;
    const bool has_indexes = control && control->indexes && control->indexes->store == store;
    const struct hs_indexes *indexes = has_indexes ? control->indexes : &none;
    struct hs_plan plan = {.by = HS_BY_SCAN};
    if (asked == HS_ASKED_TOTALS && (plan.stack_totals = hs_stack_totals_column__for(store, filter)))
        plan.by = HS_BY_STACK_TOTALS;
    else if (asked == HS_ASKED_TOTALS)
        plan_rollups(&plan, indexes, filter);
    else if (asked == HS_ASKED_COUNT)
        plan_count(&plan, indexes, filter);
    else if (asked == HS_ASKED_TIMELINE || asked == HS_ASKED_PEAK)
        plan_history(&plan, indexes, filter);
    else if (asked >= HS_ASKED_PAGE)
        plan_page(&plan, indexes, filter, (enum hs_row_key)(asked - HS_ASKED_PAGE));
    HS_CHECK(plan.by == HS_BY_SCAN || plan.by == HS_BY_STACK_TOTALS || has_indexes);
    // The index of a page is used in several ways, which is known when the page is made.
    if (asked < HS_ASKED_PAGE)
        hs_query__explain(control, asked, plan.by);
    return plan;
}
