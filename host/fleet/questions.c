// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/questions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

static char *ended(FILE *out, char **text)
{
    if (fclose(out)) {
        free(*text);
        return NULL;
    }
    return *text;
}

// The newest row of each session.
#define SESSIONS                                                                                                       \
    "(SELECT session, argMax(device, written) AS device, argMax(app, written) AS app, argMax(firmware, written) AS "   \
    "firmware, "                                                                                                       \
    "min(start) AS begun, max(seen) AS last_seen FROM session GROUP BY session)"

// What the stacks of each session have grown by.
#define SESSION_STACKS                                                                                                 \
    "(SELECT stack, session, minMerge(first_time) AS first, argMinMerge(first_bytes) AS begin_bytes, "                 \
    "argMinIfMerge(settled_bytes) AS settled, maxMerge(last_age) AS age, argMaxMerge(last_bytes) AS bytes, "           \
    "argMaxMerge(last_count) AS blocks, maxMerge(most_bytes) AS most FROM session_stack"

#define GROWN                                                                                                          \
    "if(age >= 3600, if(bytes > settled, bytes - settled, 0), "                                                        \
    "if(last_seen - begun < 3600 AND bytes > begin_bytes, bytes - begin_bytes, 0))"

char *hs_fleet_question_rollup(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
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
    return ended(out, &text);
}

char *hs_fleet_question_staleness(const struct hs_fleet_slice *slice)
{
    (void)slice;
    return strdup(
        "SELECT toInt64(toUInt32((SELECT max(time) FROM total))) - toInt64(toUInt32(max(made))), max(made), count() "
        "FROM growth FORMAT TabSeparated");
}

#define LAST_ROLLUP " made = (SELECT max(made) FROM growth)"

char *hs_fleet_question_growth(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(
        "SELECT app, firmware, stack, devices, grown_devices, grown_bytes, in_use_bytes, first_time FROM growth WHERE "
        "grown_devices > 0 AND" LAST_ROLLUP,
        out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    fprintf(out,
            " ORDER BY grown_bytes DESC, stack LIMIT 1 BY app, firmware, stack LIMIT %" PRIu64 " FORMAT TabSeparated",
            slice->top);
    return ended(out, &text);
}

char *hs_fleet_question_new(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("SELECT app, firmware, stack, devices, in_use_bytes, first_time FROM growth WHERE" LAST_ROLLUP, out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->firmware);
    fputs(" AND stack NOT IN (SELECT stack FROM growth WHERE" LAST_ROLLUP, out);
    put_equal(out, "app", slice->app);
    put_equal(out, "firmware", slice->than ? slice->than : "");
    fprintf(out,
            ") ORDER BY in_use_bytes DESC, stack LIMIT 1 BY app, firmware, stack LIMIT %" PRIu64 " FORMAT TabSeparated",
            slice->top);
    return ended(out, &text);
}

// The slope of all bytes in use, in bytes per hour, over what was seen of a session after its first hour.
#define SLOPES                                                                                                         \
    "(SELECT session, argMax(in_use_bytes, time) AS bytes, max(in_use_bytes) AS most, "                                \
    "(toFloat64(argMax(in_use_bytes, time)) - toFloat64(argMin(in_use_bytes, time))) * 3600 / "                        \
    "greatest(1, max(time) - min(time)) AS slope FROM total GROUP BY session)"

char *hs_fleet_question_devices(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
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
    return ended(out, &text);
}

char *hs_fleet_question_firmwares(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("SELECT app, firmware, uniqExact(device) AS devices, toUInt64(quantileExact(0.5)(bytes)), "
          "toUInt64(quantileExact(0.95)(bytes)), toUInt64(quantileExact(0.99)(bytes)), avg(slope) FROM " SLOPES
          " ANY INNER JOIN " SESSIONS " USING session WHERE 1",
          out);
    put_slice(out, slice);
    fprintf(out, " GROUP BY app, firmware ORDER BY app, firmware LIMIT %" PRIu64 " FORMAT TabSeparated", slice->top);
    return ended(out, &text);
}

char *hs_fleet_question_holders(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out,
            "SELECT device, firmware, begin_bytes, bytes, most, last_seen FROM " SESSION_STACKS
            " WHERE stack = %" PRIu64 " GROUP BY stack, session) ANY INNER JOIN " SESSIONS " USING session WHERE 1",
            slice->stack);
    put_slice(out, slice);
    fprintf(out, " ORDER BY bytes DESC, device LIMIT %" PRIu64 " FORMAT TabSeparated", slice->top);
    return ended(out, &text);
}

char *hs_fleet_question_stacks(const struct hs_fleet_slice *slice)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("SELECT stack, sum(bytes) AS all_bytes, sum(blocks), uniqExact(device) FROM " SESSION_STACKS
          " GROUP BY stack, session) ANY INNER JOIN " SESSIONS " USING session WHERE 1",
          out);
    put_slice(out, slice);
    fprintf(out,
            " GROUP BY stack HAVING all_bytes > 0 ORDER BY all_bytes DESC, stack LIMIT %" PRIu64 " FORMAT TabSeparated",
            slice->top);
    return ended(out, &text);
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
    {"growth", hs_fleet_question_growth, growth_columns},
    {"new", hs_fleet_question_new, new_columns},
    {"devices", hs_fleet_question_devices, device_columns},
    {"firmwares", hs_fleet_question_firmwares, firmware_columns},
    {"stack", hs_fleet_question_holders, holder_columns},
    {"stacks", hs_fleet_question_stacks, stack_columns},
    {0},
};
