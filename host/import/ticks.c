// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/ticks.h"

#include "host/query/scan.h"

static struct hs_filter without_instant(const struct hs_filter *filter)
{
    struct hs_filter rest = *filter;
    rest.alive_count = 0;
    return rest;
}

bool hs_ticks__are_asked(const struct hs_store *store, const struct hs_filter *filter)
{
    const struct hs_filter rest = without_instant(filter);
    return hs_store__summary(store)->is_aggregate && filter->alive_count == 1 && hs_filter__asks_only_stacks(&rest);
}

// The trace may have got more stacks since the store was made, whose numbers mean nothing there.
static void keep_live(struct hs_totals *totals, const struct hs_store *store)
{
    size_t kept = 0, nodes;
    hs_store__nodes(store, &nodes);
    for (size_t i = 0; i < totals->count; i++) {
        struct hs_total *total = &totals->total[i];
        if (!total->live_count || total->stack >= nodes)
            continue;
        hs_total__take_live(total);
        totals->total[kept++] = *total;
    }
    totals->count = kept;
    hs_total__take_live(&totals->sum);
}

int hs_ticks__totals(const char *path, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error)
{
    const struct hs_import_options options = {
        .temporary = true, .ticks_until = filter->alive_at[0] + 1, .cancel = control ? control->cancel : NULL};
    const struct hs_filter rest = without_instant(filter);
    struct hs_store *until;
    int result = hs_import__open(path, &options, &until, error);
    if (result)
        return result;
    result = hs_query__totals(until, &rest, control, totals, error);
    hs_store__close(until);
    if (!result)
        keep_live(totals, store);
    return result;
}
