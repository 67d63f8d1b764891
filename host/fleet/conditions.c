// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/conditions.h"

#include "format/trace_format.h"
#include "host/base/clock.h"
#include "host/base/text_stream.h"
#include "host/filter/expression.h"
#include "host/filter/given.h"
#include "host/fleet/server_regex.h"
#include "host/fleet/sql_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// As in filters of traces: numbers larger than this many times the seconds since 1970 are milliseconds.
enum { SECONDS_AT_MOST = 32 };

struct conditions_writing {
    FILE *out;
    const struct hs_filter_parameters *parameters;
    struct hs_error *error;
};

// ---- what cannot be asked ------------------------------------------------------------------------------------------

static const char *reason_of(const struct hs_given_parameter *given)
{
    switch (given->id) {
    case HS_PARAMETER_FROM:
    case HS_PARAMETER_TO:
        return "the database does not have the times at which blocks were allocated; --alive-at asks what was in use "
               "at a "
               "time";
    case HS_PARAMETER_LIFETIME:
        return "the database has the memory in use, but not the ends of single blocks; give one of: all only_leaked "
               "only_whole_group_leaked";
    case HS_PARAMETER_SIZE_MIN:
    case HS_PARAMETER_SIZE_MAX:
        return "the database has sums of stacks, but not the sizes of single blocks";
    case HS_PARAMETER_LIFETIME_MIN:
    case HS_PARAMETER_LIFETIME_MAX:
        return "the database has sums of stacks, but not the lifetimes of single blocks";
    case HS_PARAMETER_BACKTRACES:
        return "this is the number of a stack in one trace; 'heapsonde fleet stack' takes the numbers of the database";
    case HS_PARAMETER_DEALLOCATION_BACKTRACES:
        return "the database does not have the stacks that freed blocks";
    case HS_PARAMETER_ADDRESS_MIN:
    case HS_PARAMETER_ADDRESS_MAX:
    case HS_PARAMETER_FROM_MAP:
    case HS_PARAMETER_MMAPED:
    case HS_PARAMETER_ARENA:
    case HS_PARAMETER_JEMALLOC:
        return "the database has sums of stacks, but not the addresses of single blocks";
    case HS_PARAMETER_THREAD:
        return "the database has the sums of all threads together";
    case HS_PARAMETER_MARKER:
        return "the database does not have the marks of traces";
    case HS_PARAMETER_GROUP_INTERVAL_MIN:
    case HS_PARAMETER_GROUP_INTERVAL_MAX:
    case HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN:
    case HS_PARAMETER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX:
        return "the database has the memory in use at each tick, but not the times of single allocations";
    case HS_PARAMETER_ALIVE_AT_2:
        return "sums of two times do not say which blocks are the same";
    default:
        return "the database has sums of stacks, but no realloc chains";
    }
}

static int refuse(const struct conditions_writing *writing, const struct hs_given_parameter *given)
{
    return hs_error__set(writing->error, EINVAL, "%s: %s",
                         hs_filter_parameters__shown_name(writing->parameters, given->id), reason_of(given));
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static const struct hs_given_parameter *find(const struct conditions_writing *writing, enum hs_parameter_id id)
{
    return hs_given_parameter__find(writing->parameters, id);
}

static int put_match(const struct conditions_writing *writing, const char *column,
                     const struct hs_given_parameter *given)
{
    const char *name = hs_filter_parameters__shown_name(writing->parameters, given->id);
    char *pattern = hs_server_regex__of_perl(name, given->text, writing->error);
    if (!pattern)
        return -EINVAL;
    fprintf(writing->out, "%s != '' AND match(%s, ", column, column);
    hs_sql__text(writing->out, pattern);
    fputc(')', writing->out);
    free(pattern);
    return 0;
}

// Stacks with a frame that has a matching name: the function, the source file, or both.
static int put_names(const struct conditions_writing *writing, const char *in,
                     const struct hs_given_parameter *function, const struct hs_given_parameter *source)
{
    int failed = 0;
    if (!function && !source)
        return 0;
    fprintf(
        writing->out,
        " AND stack %s (SELECT stack FROM stack ARRAY JOIN builds AS b, offsets AS o WHERE (b, o) IN (SELECT build, "
        "offset FROM symbol WHERE ",
        in);
    if (function)
        failed = put_match(writing, "function", function);
    fputs(function && source ? " AND " : "", writing->out);
    if (source && !failed)
        failed = put_match(writing, "file", source);
    fputs("))", writing->out);
    return failed;
}

static int put_libraries(const struct conditions_writing *writing, const char *in, enum hs_parameter_id id)
{
    const struct hs_filter_parameters *parameters = writing->parameters;
    bool first = true;
    if (!find(writing, id))
        return 0;
    fprintf(writing->out,
            " AND stack %s (SELECT stack FROM stack ARRAY JOIN builds AS b WHERE b IN (SELECT build FROM build WHERE ",
            in);
    for (size_t i = 0; i < parameters->count; i++) {
        char *pattern = parameters->given[i].id == id ? hs_server_regex__of_library(parameters->given[i].text) : NULL;
        if (parameters->given[i].id == id && !pattern)
            return hs_error__set(writing->error, ENOMEM, "out of memory");
        if (!pattern)
            continue;
        fputs(first ? "match(hex(path), " : " OR match(hex(path), ", writing->out);
        hs_sql__text(writing->out, pattern);
        fputc(')', writing->out);
        free(pattern);
        first = false;
    }
    fputs("))", writing->out);
    return 0;
}

// A place in the code stands for one frame for each of its names, but at least one. Marks of cut stacks are no frames.
static void put_depths(const struct conditions_writing *writing)
{
    const struct hs_given_parameter *least = find(writing, HS_PARAMETER_BACKTRACE_DEPTH_MIN);
    const struct hs_given_parameter *most = find(writing, HS_PARAMETER_BACKTRACE_DEPTH_MAX);
    if (!least && !most)
        return;
    const uint64_t from = least ? least->number : 0, to = most ? most->number : UINT32_MAX;
    fprintf(
        writing->out,
        " AND (stack IN (SELECT stack FROM (SELECT stack, b, o FROM (SELECT stack, any(builds) AS bs, any(offsets) AS "
        "os FROM stack GROUP BY stack) ARRAY JOIN bs AS b, os AS o) AS places ANY LEFT JOIN (SELECT build AS b, offset "
        "AS o, "
        "uniqExact(depth) AS frames FROM symbol GROUP BY build, offset) AS depths USING b, o GROUP BY stack HAVING "
        "sum(if(o < %d AND b = toFixedString('', 20), 0, greatest(frames, 1))) BETWEEN %" PRIu64 " AND %" PRIu64 ")%s)",
        HS_CUT_LIMIT, from, to, from ? "" : " OR stack = 0");
}

static int put_stacks(const struct conditions_writing *writing)
{
    const struct hs_given_parameter *function = find(writing, HS_PARAMETER_NEGATIVE_FUNCTION_REGEX);
    int failed =
        put_names(writing, "IN", find(writing, HS_PARAMETER_FUNCTION_REGEX), find(writing, HS_PARAMETER_SOURCE_REGEX));
    if (!failed)
        failed = put_names(writing, "NOT IN", function, NULL);
    if (!failed)
        failed = put_names(writing, "NOT IN", NULL, find(writing, HS_PARAMETER_NEGATIVE_SOURCE_REGEX));
    if (!failed)
        failed = put_libraries(writing, "IN", HS_PARAMETER_LIBRARY);
    if (!failed)
        failed = put_libraries(writing, "NOT IN", HS_PARAMETER_NEGATIVE_LIBRARY);
    put_depths(writing);
    return failed;
}

// ---- groups --------------------------------------------------------------------------------------------------------

static void put_number(const struct conditions_writing *writing, const char *column, const char *comparison,
                       enum hs_parameter_id id)
{
    const struct hs_given_parameter *given = find(writing, id);
    if (given)
        fprintf(writing->out, " AND %s %s %" PRIu64, column, comparison, given->number);
}

// A share is rounded down.
static int put_leaked(const struct conditions_writing *writing, const char *comparison, enum hs_parameter_id id)
{
    enum { THOUSANDTHS = 1000, MOST = 1000000 };
    const struct hs_given_parameter *given = find(writing, id);
    if (!given || given->form != HS_VALUE_PERCENT) {
        put_number(writing, "blocks", comparison, id);
        return 0;
    }
    if (given->decimal.nano % (HS_NANO / THOUSANDTHS))
        return hs_error__set(writing->error, EINVAL, "%s: give at most three digits behind the point",
                             hs_filter_parameters__shown_name(writing->parameters, id));
    const uint64_t percent = given->decimal.whole < MOST ? given->decimal.whole : MOST;
    fprintf(writing->out, " AND blocks %s intDiv(allocated * %" PRIu64 ", %d)", comparison,
            percent * THOUSANDTHS + given->decimal.nano / (HS_NANO / THOUSANDTHS), 100 * THOUSANDTHS);
    return 0;
}

static int put_groups(const struct conditions_writing *writing)
{
    if (hs_given_parameter__is(find(writing, HS_PARAMETER_LIFETIME), "only_whole_group_leaked"))
        fputs(" AND blocks = allocated", writing->out);
    put_number(writing, "allocated", ">=", HS_PARAMETER_GROUP_ALLOCATIONS_MIN);
    put_number(writing, "allocated", "<=", HS_PARAMETER_GROUP_ALLOCATIONS_MAX);
    int failed = put_leaked(writing, ">=", HS_PARAMETER_GROUP_LEAKED_ALLOCATIONS_MIN);
    return failed ? failed : put_leaked(writing, "<=", HS_PARAMETER_GROUP_LEAKED_ALLOCATIONS_MAX);
}

// ---- times ---------------------------------------------------------------------------------------------------------

static enum hs_time_unit unit_of(const struct conditions_writing *writing, uint64_t whole)
{
    const struct hs_given_parameter *unit = find(writing, HS_PARAMETER_TIME_UNIT);
    const struct hs_given_parameter *era = find(writing, HS_PARAMETER_ERA);
    if (hs_given_parameter__is(unit, "s") || (!unit && hs_given_parameter__is(era, "0.1")))
        return HS_TIME_UNIT_SECONDS;
    if (hs_given_parameter__is(unit, "ms") || (!unit && era))
        return HS_TIME_UNIT_MILLISECONDS;
    if (!hs_given_parameter__is(unit, "auto"))
        return HS_TIME_UNIT_START;
    return whole / SECONDS_AT_MOST > hs_clock__realtime() / HS_NANO ? HS_TIME_UNIT_MILLISECONDS : HS_TIME_UNIT_SECONDS;
}

static int put_states(const struct conditions_writing *writing)
{
    const struct hs_given_parameter *given = find(writing, HS_PARAMETER_ALIVE_AT);
    if (!given)
        return 0;
    if (given->form == HS_VALUE_PERCENT)
        return hs_error__set(writing->error, EINVAL,
                             "%s: sessions differ in length; give a time since their start, or since 1970",
                             hs_filter_parameters__shown_name(writing->parameters, given->id));
    const uint64_t whole = given->decimal.whole;
    const enum hs_time_unit unit = unit_of(writing, whole);
    if (given->form == HS_VALUE_LENGTH)
        fprintf(writing->out, " AND age <= %" PRIu64, given->number / HS_NANO);
    else if (unit == HS_TIME_UNIT_START)
        fprintf(writing->out, " AND age <= %" PRIu64, whole);
    else
        fprintf(writing->out, " AND toUInt32(time) <= %" PRIu64,
                unit == HS_TIME_UNIT_MILLISECONDS ? whole / 1000 : whole);
    return 0;
}

// ---- kinds of parameters -------------------------------------------------------------------------------------------

enum conditions_kind { KIND_NONE, KIND_STACK, KIND_GROUP, KIND_STATE, KIND_WHERE, KIND_REFUSED };

static enum conditions_kind kind_of(const struct hs_given_parameter *given)
{
    switch (given->id) {
    case HS_PARAMETER_ERA:
    case HS_PARAMETER_TIME_UNIT:
    case HS_PARAMETER_CUSTOM_FILTER: // an empty one
        return KIND_NONE;
    case HS_PARAMETER_LIFETIME:
        if (hs_given_parameter__is(given, "only_whole_group_leaked"))
            return KIND_GROUP;
        // All that is counted is in use.
        return hs_given_parameter__is(given, "all") || hs_given_parameter__is(given, "only_leaked") ? KIND_NONE
                                                                                                    : KIND_REFUSED;
    case HS_PARAMETER_GROUP_ALLOCATIONS_MIN:
    case HS_PARAMETER_GROUP_ALLOCATIONS_MAX:
    case HS_PARAMETER_GROUP_LEAKED_ALLOCATIONS_MIN:
    case HS_PARAMETER_GROUP_LEAKED_ALLOCATIONS_MAX:
        return KIND_GROUP;
    case HS_PARAMETER_ALIVE_AT:
        return KIND_STATE;
    case HS_PARAMETER_WHERE:
        return KIND_WHERE;
    default:
        return hs_parameter__is_of_frames(given->id) ? KIND_STACK : KIND_REFUSED;
    }
}

bool hs_fleet_conditions__takes(enum hs_parameter_id id)
{
    const struct hs_given_parameter given = {.id = id, .text = "all"};
    return kind_of(&given) != KIND_REFUSED;
}

// What is in use at a time is not what is in use at the end, and what was allocated until then is not all.
static int check_time(const struct hs_fleet_conditions *conditions, struct hs_error *error)
{
    const char *other = conditions->end_name ? conditions->end_name : conditions->group_name;
    if (!conditions->state_name || !other)
        return 0;
    return hs_error__set(error, EINVAL,
                         "%s is about the end of a session, and %s about an earlier time; give one of them", other,
                         conditions->state_name);
}

// Refuses what the tables do not have, and notes what is asked.
static int check(const struct conditions_writing *writing, struct hs_fleet_conditions *conditions, bool within)
{
    const struct hs_filter_parameters *parameters = writing->parameters;
    int failed = 0;
    for (size_t i = 0; i < parameters->count && !failed; i++) {
        const struct hs_given_parameter *given = &parameters->given[i];
        const enum conditions_kind kind = kind_of(given);
        if (kind == KIND_REFUSED)
            failed = refuse(writing, given);
        else if (kind == KIND_STATE && within)
            failed = hs_error__set(writing->error, EINVAL, "where: alive_at chooses a time for all; give --alive-at");
        else if (kind == KIND_STATE)
            conditions->state_name = hs_filter_parameters__shown_name(parameters, given->id);
        else if (kind == KIND_GROUP)
            conditions->group_name = hs_filter_parameters__shown_name(parameters, given->id);
        else if (hs_given_parameter__is(given, "only_leaked") && given->id == HS_PARAMETER_LIFETIME)
            conditions->end_name = hs_filter_parameters__shown_name(parameters, given->id);
        for (uint32_t k = 0; given->expression && k < given->expression->parts && !failed; k++) {
            const struct conditions_writing part = {NULL, &given->expression->part[k], writing->error};
            failed = check(&part, conditions, true);
        }
    }
    return failed;
}

static bool has_groups(const struct hs_filter_parameters *parameters)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (kind_of(&parameters->given[i]) == KIND_GROUP)
            return true;
    return false;
}

static bool asks_groups(const struct hs_expression *expression)
{
    for (uint32_t i = 0; i < expression->parts; i++)
        if (has_groups(&expression->part[i]))
            return true;
    return false;
}

// ---- where ---------------------------------------------------------------------------------------------------------

static int put_part(const struct conditions_writing *outer, const struct hs_filter_parameters *parameters)
{
    const struct conditions_writing writing = {outer->out, parameters, outer->error};
    fputs("(1", writing.out);
    int failed = put_stacks(&writing);
    if (!failed)
        failed = put_groups(&writing);
    fputc(')', writing.out);
    return failed;
}

static int put_node(const struct conditions_writing *writing, const struct hs_expression *expression, uint32_t number)
{
    const struct hs_logic_node *node = &expression->logic.node[number];
    if (node->join == HS_LOGIC_PART)
        return put_part(writing, &expression->part[node->left]);
    fputs(node->join == HS_LOGIC_NOT ? "(NOT " : "(", writing->out);
    int failed = put_node(writing, expression, node->left);
    if (!failed && node->join != HS_LOGIC_NOT) {
        fputs(node->join == HS_LOGIC_AND ? " AND " : " OR ", writing->out);
        failed = put_node(writing, expression, node->right);
    }
    fputc(')', writing->out);
    return failed;
}

// Of stacks alone, it is asked before sums are made.
static int put_where(const struct conditions_writing *writing, bool of_groups)
{
    const struct hs_given_parameter *given = find(writing, HS_PARAMETER_WHERE);
    if (!given || asks_groups(given->expression) != of_groups)
        return 0;
    fputs(" AND ", writing->out);
    return put_node(writing, given->expression, given->expression->logic.count - 1);
}

static int put_stacks_and_where(const struct conditions_writing *writing)
{
    int failed = put_stacks(writing);
    return failed ? failed : put_where(writing, false);
}

// Dumps may lack the numbers of all allocations, which are 0 then.
static int put_groups_and_where(const struct conditions_writing *writing)
{
    const struct hs_given_parameter *where = find(writing, HS_PARAMETER_WHERE);
    if (has_groups(writing->parameters) || (where && asks_groups(where->expression)))
        fputs(" AND allocated >= blocks", writing->out);
    int failed = put_groups(writing);
    return failed ? failed : put_where(writing, true);
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static int write_text(char **text, const struct conditions_writing *outer,
                      int (*put)(const struct conditions_writing *writing))
{
    struct hs_text_stream stream;
    struct conditions_writing writing = *outer;
    writing.out = hs_text_stream__open(&stream);
    int failed = writing.out ? put(&writing) : -ENOMEM;
    *text = hs_text_stream__close(&stream);
    return failed || *text ? failed : hs_error__set(writing.error, ENOMEM, "out of memory");
}

int hs_fleet_conditions__make(struct hs_fleet_conditions *conditions, const struct hs_filter_parameters *parameters,
                              struct hs_error *error)
{
    const char *least, *most;
    const struct conditions_writing writing = {NULL, parameters, error};
    *conditions = (struct hs_fleet_conditions){0};
    if (hs_filter_parameters__contradict(parameters, &least, &most))
        return hs_error__set(error, EINVAL, "%s is above %s: nothing can match; swap them", least, most);
    int failed = check(&writing, conditions, false);
    if (!failed)
        failed = check_time(conditions, error);
    if (!failed)
        failed = write_text(&conditions->stacks, &writing, put_stacks_and_where);
    if (!failed)
        failed = write_text(&conditions->groups, &writing, put_groups_and_where);
    if (!failed)
        failed = write_text(&conditions->states, &writing, put_states);
    if (failed)
        hs_fleet_conditions__free(conditions);
    return failed;
}

void hs_fleet_conditions__free(struct hs_fleet_conditions *conditions)
{
    free(conditions->stacks);
    free(conditions->groups);
    free(conditions->states);
    *conditions = (struct hs_fleet_conditions){0};
}
