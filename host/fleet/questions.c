// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/questions.h"

#include "host/base/text_stream.h"

#include <inttypes.h>
#include <string.h>

// A text in a statement, whatever is in it.
static void put_text(FILE *out, const char *text)
{
    fputs("unhex('", out);
    for (; *text; text++)
        fprintf(out, "%02x", (uint8_t)*text);
    fputs("')", out);
}

static void put_equal(FILE *out, const char *column, const char *value)
{
    if (!value)
        return;
    fprintf(out, " AND %s = ", column);
    put_text(out, value);
}

static void put_slice(FILE *out, const struct hs_fleet_slice *slice)
{
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    put_equal(out, "device", slice->device);
}

// The newest row of each session.
#define SESSIONS                                                                                                       \
    "(SELECT session, argMax(device, written) AS device, argMax(app, written) AS app, argMax(firmware, written) AS "   \
    "firmware, "                                                                                                       \
    "min(start) AS begun, max(seen) AS last_seen FROM session GROUP BY session)"

// Before the states of stacks are put together: most sessions are not of the slice.
static void put_sessions(FILE *out, const struct hs_fleet_slice *slice)
{
    if (!slice->app && !slice->firmware && !slice->device)
        return;
    fputs(" AND session IN (SELECT session FROM " SESSIONS " WHERE 1", out);
    put_slice(out, slice);
    fputc(')', out);
}

// What the stacks of each session have grown by.
#define SESSION_STACKS                                                                                                 \
    "(SELECT stack, session, minMerge(first_time) AS first, argMinMerge(first_bytes) AS begin_bytes, "                 \
    "argMinIfMerge(settled_bytes) AS settled, maxMerge(last_age) AS age, argMaxMerge(last_bytes) AS bytes, "           \
    "argMaxMerge(last_count) AS blocks, maxMerge(most_bytes) AS most FROM session_stack"

#define GROWN                                                                                                          \
    "if(age >= 3600, if(bytes > settled, bytes - settled, 0), "                                                        \
    "if(last_seen - begun < 3600 AND bytes > begin_bytes, bytes - begin_bytes, 0))"

static void rollup(FILE *out, const struct hs_fleet_slice *slice)
{
    fprintf(
        out,
        "INSERT INTO growth SELECT app, firmware, stack, uniqExact(device) AS devices, "
        "uniqExactIf(device, grew) AS grown_devices, sumIf(grown, grew) AS grown_bytes, sum(bytes) AS in_use_bytes, "
        "min(first) AS first_time, now() AS made FROM (SELECT app, firmware, device, stack, bytes, first, " GROWN
        " AS grown, grown >= %" PRIu64 " AND grown * 11 >= bytes AS grew FROM " SESSION_STACKS
        " GROUP BY stack, session) ANY INNER JOIN " SESSIONS " USING session WHERE 1",
        slice->least);
    put_slice(out, slice);
    fputs(") GROUP BY app, firmware, stack", out);
}

static void staleness(FILE *out, const struct hs_fleet_slice *slice)
{
    (void)slice;
    fputs(
        "SELECT toInt64(toUInt32((SELECT max(seen) FROM session))) - toInt64(toUInt32(max(made))), max(made), count() "
        "FROM growth FORMAT TabSeparated",
        out);
}

#define LAST_ROLLUP " made = (SELECT max(made) FROM growth)"

static void growth(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs(
        "SELECT app, firmware, stack, devices, grown_devices, grown_bytes, in_use_bytes, first_time FROM growth WHERE "
        "grown_devices > 0 AND" LAST_ROLLUP,
        out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    fprintf(out,
            " ORDER BY grown_bytes DESC, stack LIMIT 1 BY app, firmware, stack LIMIT %" PRIu64 " FORMAT TabSeparated",
            slice->top);
}

static void new_stacks(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT app, firmware, stack, devices, in_use_bytes, first_time FROM growth WHERE" LAST_ROLLUP, out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    fputs(" AND stack NOT IN (SELECT stack FROM growth WHERE" LAST_ROLLUP, out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->than ? slice->than : "");
    fprintf(out,
            ") ORDER BY in_use_bytes DESC, stack LIMIT 1 BY app, firmware, stack LIMIT %" PRIu64 " FORMAT TabSeparated",
            slice->top);
}

// The slope of all bytes in use, in bytes per hour, over what was seen of a session.
#define SLOPES                                                                                                         \
    "(SELECT session, argMaxMerge(last_bytes) AS bytes, maxMerge(most_bytes) AS most, "                                \
    "(toFloat64(bytes) - toFloat64(argMinMerge(first_bytes))) * 3600 / "                                               \
    "greatest(1, maxMerge(last_time) - minMerge(first_time)) AS slope FROM session_total GROUP BY session)"

static void devices(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs(
        "SELECT device, app, firmware, latest, highest, fastest, if(spread > 0, (fastest - mean) / spread, 0) AS "
        "distance, "
        "seen, sessions FROM (SELECT device, app, firmware, argMax(bytes, last_seen) AS latest, max(most) AS highest, "
        "max(slope) AS fastest, max(last_seen) AS seen, count() AS sessions FROM " SLOPES " ANY INNER JOIN " SESSIONS
        " USING session WHERE 1",
        out);
    put_slice(out, slice);
    fputs(" GROUP BY device, app, firmware) ANY INNER JOIN (SELECT app, firmware, avg(slope) AS mean, stddevPop(slope) "
          "AS "
          "spread FROM " SLOPES " ANY INNER JOIN " SESSIONS
          " USING session GROUP BY app, firmware) USING app, firmware",
          out);
    fprintf(out, " ORDER BY fastest DESC, device LIMIT %" PRIu64 " FORMAT TabSeparated", slice->top);
}

static void firmwares(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT app, firmware, uniqExact(device) AS devices, toUInt64(quantileExact(0.5)(bytes)), "
          "toUInt64(quantileExact(0.95)(bytes)), toUInt64(quantileExact(0.99)(bytes)), avg(slope) FROM " SLOPES
          " ANY INNER JOIN " SESSIONS " USING session WHERE 1",
          out);
    put_slice(out, slice);
    fprintf(out, " GROUP BY app, firmware ORDER BY app, firmware LIMIT %" PRIu64 " FORMAT TabSeparated", slice->top);
}

static void holders(FILE *out, const struct hs_fleet_slice *slice)
{
    fprintf(out,
            "SELECT device, firmware, begin_bytes, bytes, most, last_seen FROM " SESSION_STACKS
            " WHERE stack = %" PRIu64,
            slice->stack);
    put_sessions(out, slice);
    fputs(" GROUP BY stack, session) ANY INNER JOIN " SESSIONS " USING session WHERE 1", out);
    put_slice(out, slice);
    fprintf(out, " ORDER BY bytes DESC, device LIMIT %" PRIu64 " FORMAT TabSeparated", slice->top);
}

static void stacks(FILE *out, const struct hs_fleet_slice *slice)
{
    fputs("SELECT stack, sum(bytes) AS all_bytes, sum(blocks), uniqExact(device) FROM " SESSION_STACKS " WHERE 1", out);
    put_sessions(out, slice);
    fputs(" GROUP BY stack, session) ANY INNER JOIN " SESSIONS " USING session WHERE 1", out);
    put_slice(out, slice);
    fprintf(out,
            " GROUP BY stack HAVING all_bytes > 0 ORDER BY all_bytes DESC, stack LIMIT %" PRIu64 " FORMAT TabSeparated",
            slice->top);
}

static const char *const growth_columns[] = {"app",         "firmware",     "stack",      "devices", "grown_devices",
                                             "grown_bytes", "in_use_bytes", "first_time", NULL};
static const char *const new_columns[] = {"app", "firmware", "stack", "devices", "in_use_bytes", "first_time", NULL};
static const char *const device_columns[] = {"device",         "app",        "firmware",  "in_use_bytes", "most_bytes",
                                             "bytes_per_hour", "deviations", "last_seen", "sessions",     NULL};
static const char *const firmware_columns[] = {"app",       "firmware",  "devices",        "median_bytes",
                                               "p95_bytes", "p99_bytes", "bytes_per_hour", NULL};
static const char *const holder_columns[] = {"device",     "firmware",  "first_bytes", "in_use_bytes",
                                             "most_bytes", "last_seen", NULL};
static const char *const stack_columns[] = {"stack", "in_use_bytes", "in_use_count", "devices", NULL};

const struct hs_fleet_question hs_fleet_questions[] = {
    {.name = "growth", .write = growth, .columns = growth_columns},
    {.name = "new", .write = new_stacks, .columns = new_columns, .compares = true},
    {.name = "devices", .write = devices, .columns = device_columns},
    {.name = "firmwares", .write = firmwares, .columns = firmware_columns},
    {.name = "stack", .write = holders, .columns = holder_columns, .of_stack = true},
    {.name = "stacks", .write = stacks, .columns = stack_columns},
    {0},
};

const struct hs_fleet_question hs_fleet_rollup = {.write = rollup};
const struct hs_fleet_question hs_fleet_staleness = {.write = staleness};

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
    static const char *const texts[] = {"app", "firmware", "device", "first_time", "last_seen", "stack"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!strcmp(texts[i], column))
            return false;
    return true;
}
