// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/questions.h"

#include "host/base/text_stream.h"
#include "host/fleet/conditions.h"
#include "host/fleet/sql_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put_equal(FILE *out, const char *column, const char *value)
{
    if (!value)
        return;
    fprintf(out, " AND %s = ", column);
    hs_sql__text(out, value);
}

static void put_slice(FILE *out, const struct hs_fleet_slice *slice)
{
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    put_equal(out, "device", slice->device);
}

static void put_page(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs(" LIMIT ", out);
    if (slice->skip)
        fprintf(out, "%" PRIu64 ", ", slice->skip);
    fprintf(out, "%" PRIu64 " FORMAT TabSeparated", slice->top);
}

// The newest row of each session.
#define SESSIONS                                                                                                       \
    "(SELECT session, argMax(device, written) AS device, argMax(app, written) AS app, argMax(firmware, written) AS "   \
    "firmware, "                                                                                                       \
    "min(start) AS begun, max(seen) AS last_seen, argMax(estimated, written) AS guessed, argMax(pid, written) AS "     \
    "process, max(ended) AS has_ended FROM session GROUP BY session)"

// Before the states of stacks are put together: most sessions are not of the slice.
static void put_sessions(FILE *out, const struct hs_fleet_slice *slice)
{
    if (!slice->app && !slice->firmware && !slice->device)
        return;
    fputs(" AND session IN (SELECT session FROM " SESSIONS " WHERE 1", out);
    put_slice(out, slice);
    fputc(')', out);
}

static void put_stacks(FILE *out, const struct hs_fleet_slice *slice)
{
    if (slice->stack)
        fprintf(out, " AND stack = %" PRIu64, slice->stack);
    if (slice->part)
        fprintf(out, " AND stack >= %" PRIu64 " AND stack <= %" PRIu64, slice->part->first, slice->part->last);
    if (slice->conditions)
        fputs(slice->conditions->stacks, out);
}

// Whether rollups do for it.
static bool asks_samples(const struct hs_fleet_slice *slice)
{
    const struct hs_fleet_conditions *conditions = slice->conditions;
    return conditions && (*conditions->groups || *conditions->states);
}

// Names that no aggregate has.
static void put_samples(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("(SELECT stack, session, time, instant, age AS old, in_use_bytes AS held, in_use_count AS held_count, "
          "allocated_count "
          "AS "
          "given FROM sample WHERE 1",
          out);
    put_stacks(out, slice);
    if (slice->conditions)
        fputs(slice->conditions->states, out);
    put_sessions(out, slice);
    fputc(')', out);
}

static void put_groups(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs(" GROUP BY stack, session", out);
    if (slice->conditions && *slice->conditions->groups)
        fprintf(out, " HAVING 1%s", slice->conditions->groups);
}

// What the stacks of each session have grown by.
static void put_session_stacks(FILE *out, const struct hs_fleet_slice *slice)
{
    if (asks_samples(slice)) {
        fputs(
            "(SELECT stack, session, min(time) AS first, argMin(held, instant) AS begin_bytes, argMinIf(held, instant, "
            "old >= 3600) AS settled, max(old) AS age, argMax(held, instant) AS bytes, argMax(held_count, instant) "
            "AS blocks, max(held) AS most, argMax(given, instant) AS allocated FROM ",
            out);
        put_samples(out, slice);
        put_groups(out, slice);
    } else {
        fputs("(SELECT stack, session, toDateTime(toUInt32(intDiv(minMerge(first_instant), 4294967296))) AS first, "
              "argMinMerge(first_bytes) AS begin_bytes, "
              "argMinIfMerge(settled_bytes) AS settled, maxMerge(last_age) AS age, argMaxMerge(last_bytes) AS bytes, "
              "argMaxMerge(last_count) AS blocks, maxMerge(most_bytes) AS most FROM stack_of_session WHERE 1",
              out);
        put_stacks(out, slice);
        put_sessions(out, slice);
        fputs(" GROUP BY stack, session", out);
    }
    fputs(") AS held_by", out);
}

#define GROWN                                                                                                          \
    "if(age >= 3600, if(bytes > settled, bytes - settled, 0), "                                                        \
    "if(last_seen - begun < 3600 AND bytes > begin_bytes, bytes - begin_bytes, 0))"

static void rollup(FILE *out, const struct hs_fleet_slice *slice)
{
    fprintf(
        out,
        "INSERT INTO growth SELECT app, firmware, stack, uniqExact(device) AS devices, "
        "uniqExactIf(device, grew) AS grown_devices, sumIf(grown, grew) AS grown_bytes, sum(bytes) AS in_use_bytes, "
        "min(first) AS first_time, toUInt64(%" PRIu64
        ") AS made, uniqExactIf(device, guessed) AS estimated_devices FROM (SELECT app, "
        "firmware, device, stack, bytes, first, guessed, " GROWN " AS grown, grown >= %" PRIu64
        " AND grown * 11 >= bytes AS grew FROM ",
        slice->part->made, slice->least);
    put_session_stacks(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session WHERE 1", out);
    put_slice(out, slice);
    fputs(") GROUP BY app, firmware, stack", out);
}

static void staleness(FILE *out, const struct hs_fleet_slice *slice)
{
    (void)slice;
    fputs("SELECT toUInt32(now()), intDiv((SELECT max(written) FROM session), 1000000000), intDiv(max(made), "
          "4294967296), count() "
          "FROM rollup FORMAT TabSeparated",
          out);
}

#define LAST_ROLLUP " made = (SELECT max(made) FROM rollup)"

static void growth(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT app, firmware, stack, devices, grown_devices, grown_bytes, in_use_bytes, first_time, "
          "estimated_devices FROM growth WHERE "
          "grown_devices > 0 AND" LAST_ROLLUP,
          out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    put_stacks(out, slice);
    fputs(" ORDER BY grown_bytes DESC, stack LIMIT 1 BY app, firmware, stack", out);
    put_page(out, slice);
}

static void new_stacks(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT app, firmware, stack, devices, in_use_bytes, first_time, estimated_devices FROM growth "
          "WHERE" LAST_ROLLUP,
          out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    put_stacks(out, slice);
    fputs(" AND stack NOT IN (SELECT stack FROM growth WHERE" LAST_ROLLUP, out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->than ? slice->than : "");
    fputs(") ORDER BY in_use_bytes DESC, stack LIMIT 1 BY app, firmware, stack", out);
    put_page(out, slice);
}

// The slope of all bytes in use, in bytes per hour, over what was seen of a session.
#define SLOPES                                                                                                         \
    "(SELECT session, argMaxMerge(last_bytes) AS bytes, maxMerge(most_bytes) AS most, "                                \
    "(toFloat64(bytes) - toFloat64(argMinMerge(first_bytes))) * 3600 / "                                               \
    "greatest(1, maxMerge(last_time) - minMerge(first_time)) AS slope FROM total_of_session GROUP BY session) AS "     \
    "slopes"

// The same of some stacks: the states of each become changes, and the changes of all of them together levels. A lambda
// takes no array from around it: servers copy that for each element.
static void put_some_slopes(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs(
        "(SELECT session, toUInt64(levels[length(levels)]) AS bytes, toUInt64(arrayReduce('max', levels)) AS most, "
        "(toFloat64(bytes) - toFloat64(if(steps[1].1 = begun_at, levels[1], 0))) * 3600 / "
        "greatest(1, ended_at - begun_at) AS slope FROM (SELECT session, arraySort(groupArray((at, change))) AS steps, "
        "arrayCumSum(arrayMap(x -> tupleElement(x, 2), steps)) AS levels FROM (SELECT session, at, sum(delta) AS "
        "change "
        "FROM (SELECT session, stack, arraySort(groupUniqArray((instant, held))) AS states, "
        "arrayMap(x -> toDateTime(toUInt32(intDiv(tupleElement(x, 1), 4294967296))), states) AS times, arrayMap(x -> "
        "toInt64(tupleElement(x, 2)), states) AS "
        "amounts, arrayMap((x, y) -> x - y, amounts, arrayPopBack(arrayPushFront(amounts, toInt64(0)))) AS deltas, "
        "argMax(held_count, instant) AS blocks, argMax(given, instant) AS allocated FROM ",
        out);
    put_samples(out, slice);
    put_groups(out, slice);
    fputs(") ARRAY JOIN times AS at, deltas AS delta GROUP BY session, at) GROUP BY session) AS stepped ALL INNER JOIN "
          "(SELECT "
          "session, minMerge(first_time) AS begun_at, maxMerge(last_time) AS ended_at FROM total_of_session GROUP BY "
          "session) AS seen_at "
          "USING session) AS slopes",
          out);
}

static void put_slopes(FILE *out, const struct hs_fleet_slice *slice)
{
    const struct hs_fleet_conditions *conditions = slice->conditions;
    const struct hs_fleet_slice all = {.conditions = conditions};
    if (conditions && (*conditions->stacks || *conditions->groups))
        put_some_slopes(out, &all);
    else
        fputs(SLOPES, out);
}

static void devices(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT device, app, firmware, latest, highest, fastest, if(spread > 0, (fastest - mean) / spread, 0) AS "
          "distance, "
          "seen, sessions, estimates FROM (SELECT device, app, firmware, argMax(bytes, last_seen) AS latest, max(most) "
          "AS highest, "
          "max(slope) AS fastest, max(last_seen) AS seen, count() AS sessions, countIf(guessed) AS estimates FROM ",
          out);
    put_slopes(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session WHERE 1", out);
    put_slice(out, slice);
    fputs(" GROUP BY device, app, firmware) AS each ALL INNER JOIN (SELECT app, firmware, avg(slope) AS mean, "
          "stddevPop(slope) "
          "AS "
          "spread FROM ",
          out);
    put_slopes(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session GROUP BY app, firmware) AS means USING app, firmware",
          out);
    fputs(" ORDER BY fastest DESC, device", out);
    put_page(out, slice);
}

static void sessions(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT session, device, app, firmware, process, bytes, most, slope, begun, last_seen, has_ended, guessed "
          "FROM ",
          out);
    put_slopes(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session WHERE 1", out);
    put_slice(out, slice);
    fputs(" ORDER BY last_seen DESC, session", out);
    put_page(out, slice);
}

static void device_count(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT uniqExact(device) FROM " SESSIONS " WHERE 1", out);
    put_slice(out, slice);
    fputs(" FORMAT TabSeparated", out);
}

static void firmwares(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT app, firmware, uniqExact(device) AS devices, toUInt64(quantileExact(0.5)(bytes)), "
          "toUInt64(quantileExact(0.95)(bytes)), toUInt64(quantileExact(0.99)(bytes)), avg(slope), uniqExactIf(device, "
          "guessed) FROM ",
          out);
    put_slopes(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session WHERE 1", out);
    put_slice(out, slice);
    fputs(" GROUP BY app, firmware ORDER BY app, firmware", out);
    put_page(out, slice);
}

static void holders(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT device, firmware, begin_bytes, bytes, most, last_seen, guessed FROM ", out);
    put_session_stacks(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session WHERE 1", out);
    put_slice(out, slice);
    fputs(" ORDER BY bytes DESC, device", out);
    put_page(out, slice);
}

static void stacks(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT stack, sum(bytes) AS all_bytes, sum(blocks), uniqExact(device), uniqExactIf(device, guessed) FROM ",
          out);
    put_session_stacks(out, slice);
    fputs(" ALL INNER JOIN " SESSIONS " AS about USING session WHERE 1", out);
    put_slice(out, slice);
    fputs(" GROUP BY stack HAVING all_bytes > 0 ORDER BY all_bytes DESC, stack", out);
    put_page(out, slice);
}

static const char *const growth_columns[] = {
    "app",         "firmware",     "stack",      "devices",           "grown_devices",
    "grown_bytes", "in_use_bytes", "first_time", "estimated_devices", NULL};
static const char *const new_columns[] = {"app",        "firmware",          "stack", "devices", "in_use_bytes",
                                          "first_time", "estimated_devices", NULL};
static const char *const device_columns[] = {
    "device",     "app",       "firmware", "in_use_bytes",       "most_bytes", "bytes_per_hour",
    "deviations", "last_seen", "sessions", "estimated_sessions", NULL};
static const char *const session_columns[] = {
    "session",    "device",    "app",   "firmware",  "pid", "in_use_bytes", "most_bytes", "bytes_per_hour",
    "first_time", "last_seen", "ended", "estimated", NULL};
static const char *const firmware_columns[] = {"app",       "firmware",  "devices",        "median_bytes",
                                               "p95_bytes", "p99_bytes", "bytes_per_hour", "estimated_devices",
                                               NULL};
static const char *const holder_columns[] = {"device",     "firmware",  "first_bytes", "in_use_bytes",
                                             "most_bytes", "last_seen", "estimated",   NULL};
static const char *const stack_columns[] = {"stack",   "in_use_bytes",      "in_use_count",
                                            "devices", "estimated_devices", NULL};

const struct hs_fleet_question hs_fleet_questions[] = {
    {.name = "growth", .write = growth, .columns = growth_columns, .rolled = true},
    {.name = "new", .write = new_stacks, .columns = new_columns, .rolled = true, .compares = true},
    {.name = "devices", .write = devices, .columns = device_columns, .reach = HS_FLEET_OF_GROUPS},
    {.name = "sessions", .write = sessions, .columns = session_columns, .reach = HS_FLEET_OF_GROUPS},
    {.name = "firmwares", .write = firmwares, .columns = firmware_columns, .reach = HS_FLEET_OF_GROUPS},
    {.name = "stack", .write = holders, .columns = holder_columns, .reach = HS_FLEET_OF_TIMES, .of_stack = true},
    {.name = "stacks", .write = stacks, .columns = stack_columns, .reach = HS_FLEET_OF_TIMES},
    {0},
};

const struct hs_fleet_question hs_fleet_rollup_part = {.write = rollup};
const struct hs_fleet_question hs_fleet_device_count = {.write = device_count};
const struct hs_fleet_question hs_fleet_staleness = {.write = staleness};

const struct hs_fleet_question *hs_fleet_question__find(const char *name)
{
    for (const struct hs_fleet_question *question = hs_fleet_questions; question->name; question++)
        if (!strcmp(question->name, name))
            return question;
    return NULL;
}

bool hs_fleet_question__has_stacks(const struct hs_fleet_question *question, size_t *column)
{
    for (*column = 0; question->columns[*column]; (*column)++)
        if (!strcmp(question->columns[*column], "stack"))
            return true;
    return false;
}

int hs_fleet_question__check_reach(const char *name, enum hs_fleet_reach reach, const struct hs_fleet_slice *slice,
                                   const char *device, struct hs_error *error)
{
    const struct hs_fleet_conditions *conditions = slice->conditions;
    const char *other = reach < HS_FLEET_OF_TIMES ? conditions->state_name : NULL;
    if (reach < HS_FLEET_OF_GROUPS && conditions->group_name)
        other = conditions->group_name;
    if (!other && slice->device && reach == HS_FLEET_OF_STACKS)
        return hs_error__set(error, EINVAL,
                             "%s: '%s' reads the rollup, which has sums of all devices; ask stacks, devices, sessions "
                             "or flame",
                             device, name);
    if (!other)
        return 0;
    return hs_error__set(error, EINVAL, "%s: '%s' %s; ask %s", other, name,
                         reach == HS_FLEET_OF_STACKS ? "reads the rollup, which has sums of all sessions"
                                                     : "compares the beginnings and the ends of sessions",
                         other == conditions->state_name ? "stacks, stack or flame"
                                                         : "stacks, stack, devices, sessions, firmwares or flame");
}

char *hs_fleet_question__statement(const struct hs_fleet_question *question, const struct hs_fleet_slice *slice)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (out)
        question->write(out, slice);
    return hs_text_stream__close(&stream);
}

bool hs_fleet_column__is_number(const char *column)
{
    static const char *const texts[] = {"app", "firmware", "device", "first_time", "last_seen", "stack", "session"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!strcmp(texts[i], column))
            return false;
    return true;
}
