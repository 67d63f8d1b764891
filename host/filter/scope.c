// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/scope.h"

#include "host/query/scan.h"
#include "host/query/stack_totals_column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_filter_scope *hs_filter_scope__create(const struct hs_store *store, struct hs_trace_symbols *symbols,
                                                pthread_mutex_t *symbols_lock)
{
    struct hs_filter_scope *scope = calloc(1, sizeof(*scope));
    if (!scope)
        return NULL;
    scope->store = store;
    scope->symbols = symbols;
    scope->symbols_lock = symbols_lock;
    pthread_mutex_init(&scope->mutex, NULL);
    return scope;
}

void hs_filter_scope__destroy(struct hs_filter_scope *scope)
{
    if (!scope)
        return;
    hs_names__free(&scope->names);
    hs_totals__free(&scope->groups);
    pthread_mutex_destroy(&scope->mutex);
    free(scope);
}

int hs_filter_scope__prepare_names(struct hs_filter_scope *scope, const struct hs_query_control *control,
                                   struct hs_error *error)
{
    int result = 0;
    pthread_mutex_lock(&scope->mutex);
    if (!scope->has_names)
        result = hs_names__collect(&scope->names, scope->store, scope->symbols, scope->symbols_lock,
                                   control ? control->cancel : NULL);
    scope->has_names |= !result;
    pthread_mutex_unlock(&scope->mutex);
    return result ? hs_error__set(error, -result, "filter: %s", strerror(-result)) : 0;
}

// ---- groups --------------------------------------------------------------------------------------------------------

int hs_filter_scope__prepare_groups(struct hs_filter_scope *scope, bool usage, const struct hs_query_control *control,
                                    struct hs_error *error)
{
    int result = 0;
    if (usage && hs_store__summary(scope->store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    if (hs_store__totals(scope->store))
        return 0;
    pthread_mutex_lock(&scope->mutex);
    if (!scope->has_groups)
        result = hs_query__totals(scope->store, NULL, control, &scope->groups, error);
    scope->has_groups |= !result;
    pthread_mutex_unlock(&scope->mutex);
    return result;
}

static int compare_stack(const void *key, const void *element)
{
    uint32_t stack = *(const uint32_t *)key, other = ((const struct hs_total *)element)->stack;
    return (stack > other) - (stack < other);
}

static bool find_total(const struct hs_filter_scope *scope, uint32_t stack, struct hs_total *total)
{
    const struct hs_packed *table = hs_store__totals(scope->store);
    if (table)
        return hs_stack_totals_column__find(table, stack, total);
    const struct hs_total *found =
        scope->groups.count ? bsearch(&stack, scope->groups.total, scope->groups.count, sizeof(*found), compare_stack)
                            : NULL;
    if (found)
        *total = *found;
    return found;
}

static void add_usage(const struct hs_filter_scope *scope, struct hs_group *group)
{
    if (hs_store__summary(scope->store)->is_aggregate)
        return;
    group->usage_max_time = hs_query__stack_peak(scope->store, group->total.stack).time;
}

bool hs_filter_scope__group(const struct hs_filter_scope *scope, uint32_t stack, struct hs_group *group)
{
    *group = (struct hs_group){.total.stack = stack};
    if (!find_total(scope, stack, &group->total))
        return false;
    add_usage(scope, group);
    return true;
}

struct grouping {
    const struct hs_filter_scope *scope;
    hs_group_visitor visit;
    void *context;
};

static int visit_total(void *context, const struct hs_total *total)
{
    const struct grouping *grouping = context;
    struct hs_group group = {.total = *total};
    add_usage(grouping->scope, &group);
    return grouping->visit(grouping->context, &group);
}

int hs_filter_scope__each_group(const struct hs_filter_scope *scope, hs_group_visitor visit, void *context)
{
    struct grouping grouping = {scope, visit, context};
    const struct hs_packed *table = hs_store__totals(scope->store);
    const struct hs_set all = {0};
    int result = 0;
    if (table)
        return hs_stack_totals_column__each_total(table, &all, visit_total, &grouping);
    for (size_t i = 0; i < scope->groups.count && !result; i++)
        result = visit_total(&grouping, &scope->groups.total[i]);
    return result;
}
