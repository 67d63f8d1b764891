// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Conditions on groups: all allocations of the trace that have one stack.
#include "host/filter/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct bounds {
    uint64_t least, most;
};

struct conditions {
    struct bounds interval, allocations, peak_time;
    const struct hs_given_parameter *leaked_min, *leaked_max; // NULL: any
    bool all_leaked;                                          // nothing of the group was ever freed
};

static const struct hs_given_parameter *find(const struct hs_stack_question *question, enum hs_parameter_id id)
{
    return hs_given_parameter__find(question->parameters, id);
}

static bool all_leaked_only(const struct hs_stack_question *question)
{
    const struct hs_given_parameter *lifetime = find(question, HS_PARAMETER_LIFETIME);
    return lifetime && !strcmp(lifetime->text, "only_whole_group_leaked");
}

static bool asks_peaks(const struct hs_stack_question *question)
{
    return find(question, HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN) ||
           find(question, HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX);
}

static bool asks_groups(const struct hs_stack_question *question)
{
    for (int id = HS_PARAMETER_GROUP_INTERVAL_MIN; id <= HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX; id++) {
        if (find(question, (enum hs_parameter_id)id))
            return true;
    }
    return all_leaked_only(question);
}

static uint64_t interval_of(const struct hs_given_parameter *given, uint64_t runtime)
{
    return given->form == HS_VALUE_PERCENT ? hs_quantity__share(given->decimal, runtime) : given->number;
}

static void read_conditions(const struct hs_stack_question *question, hs_time_of time_of, const void *context,
                            struct conditions *conditions)
{
    uint64_t runtime = hs_store__summary(question->scope->store)->end_time;
    const struct hs_given_parameter *given;
    const struct bounds any = {0, UINT64_MAX};
    *conditions = (struct conditions){.interval = any, .allocations = any, .peak_time = any};
    if ((given = find(question, HS_PARAMETER_GROUP_INTERVAL_MIN)))
        conditions->interval.least = interval_of(given, runtime);
    if ((given = find(question, HS_PARAMETER_GROUP_INTERVAL_MAX)))
        conditions->interval.most = interval_of(given, runtime);
    if ((given = find(question, HS_PARAMETER_GROUP_ALLOCATIONS_MIN)))
        conditions->allocations.least = given->number;
    if ((given = find(question, HS_PARAMETER_GROUP_ALLOCATIONS_MAX)))
        conditions->allocations.most = given->number;
    if ((given = find(question, HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN)))
        conditions->peak_time.least = time_of(context, given);
    if ((given = find(question, HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX)))
        conditions->peak_time.most = time_of(context, given);
    conditions->leaked_min = find(question, HS_PARAMETER_GROUP_LEAKED_ALLOCATIONS_MIN);
    conditions->leaked_max = find(question, HS_PARAMETER_GROUP_LEAKED_ALLOCATIONS_MAX);
    conditions->all_leaked = all_leaked_only(question);
}

static bool within(uint64_t value, struct bounds bounds)
{
    return value >= bounds.least && value <= bounds.most;
}

static uint64_t count_of(const struct hs_given_parameter *given, uint64_t all)
{
    return given->form == HS_VALUE_PERCENT ? hs_quantity__share(given->decimal, all) : given->number;
}

static bool leaks_match(const struct conditions *conditions, const struct hs_total *total)
{
    uint64_t leaked = total->live_count, all = total->allocated_count;
    return (!conditions->leaked_min || leaked >= count_of(conditions->leaked_min, all)) &&
           (!conditions->leaked_max || leaked <= count_of(conditions->leaked_max, all)) &&
           (!conditions->all_leaked || leaked == all);
}

// Culled blocks count as a part of a group's leaks, but they are not stored allocations.
static bool group_matches(const struct conditions *conditions, const struct hs_group *group)
{
    const struct hs_total *total = &group->total;
    uint64_t interval = total->last_time > total->first_time ? total->last_time - total->first_time : 0;
    return within(interval, conditions->interval) &&
           within(total->allocated_count - total->culled_count, conditions->allocations) &&
           within(group->usage_max_time, conditions->peak_time) && leaks_match(conditions, total);
}

struct group_asking {
    const struct hs_stack_question *question;
    struct conditions conditions;
    uint64_t *matches; // a bit for each stack
};

static int ask_group(void *context, const struct hs_group *group)
{
    const struct group_asking *asking = context;
    const uint32_t stack = group->total.stack;
    if (stack < asking->question->stacks && group_matches(&asking->conditions, group))
        asking->matches[stack / 64] |= (uint64_t)1 << (stack % 64);
    return 0;
}

int hs_stack_question__ask_groups(struct hs_stack_question *question, hs_time_of time_of, const void *context,
                                  struct hs_error *error)
{
    struct group_asking asking = {.question = question};
    if (!asks_groups(question))
        return 0;
    int result = hs_stack_question__begin(question, error);
    if (!result)
        result = hs_filter_scope__prepare_groups(question->scope, asks_peaks(question), question->control, error);
    if (result)
        return result;
    const size_t words = question->stacks / 64 + 1;
    read_conditions(question, time_of, context, &asking.conditions);
    asking.matches = calloc(words, sizeof(*asking.matches));
    result = asking.matches ? hs_filter_scope__each_group(question->scope, ask_group, &asking) : -ENOMEM;
    for (size_t i = 0; !result && i < words; i++)
        question->words[i] &= asking.matches[i];
    free(asking.matches);
    return result ? hs_error__set(error, -result, "filter: out of memory") : 0;
}
