// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/scope.h"

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
    hs_stack_peaks__free(&scope->peaks);
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
    pthread_mutex_lock(&scope->mutex);
    if (!scope->has_groups)
        result = hs_query__totals(scope->store, NULL, control, &scope->groups, error);
    scope->has_groups |= !result;
    // Others read groups meanwhile: they see the whole table or none.
    if (!result && usage && !scope->ready_peaks) {
        result = hs_query__stack_peaks(scope->store, control, &scope->peaks, error);
        if (!result)
            __atomic_store_n(&scope->ready_peaks, &scope->peaks, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&scope->mutex);
    return result;
}

static int compare_stack(const void *key, const void *element)
{
    uint32_t stack = *(const uint32_t *)key, other = ((const struct hs_total *)element)->stack;
    return (stack > other) - (stack < other);
}

bool hs_filter_scope__group(const struct hs_filter_scope *scope, uint32_t stack, struct hs_group *group)
{
    *group = (struct hs_group){.total.stack = stack};
    const struct hs_total *total =
        scope->groups.count ? bsearch(&stack, scope->groups.total, scope->groups.count, sizeof(*total), compare_stack)
                            : NULL;
    if (!total)
        return false;
    group->total = *total;
    const struct hs_stack_peaks *peaks = __atomic_load_n(&scope->ready_peaks, __ATOMIC_ACQUIRE);
    if (peaks && stack < peaks->count) {
        group->usage_max = peaks->peak[stack].bytes;
        group->usage_max_time = peaks->peak[stack].time;
    }
    return true;
}
