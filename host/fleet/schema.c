// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/schema.h"

#include "host/base/clock.h"
#include "host/base/text_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Column codecs exist since 19.1, and T64 since 19.11; TTL of tables since 19.6.
enum { MODERN = 20 };

enum { INSERTIONS_SECONDS = 600 }; // how long an update waits for those that began before it

// Copies the text of a piece between << and >>, with {days} replaced.
static void put_modern(FILE *out, const char *text, size_t length, unsigned days)
{
    static const char mark[] = "{days}";
    const char *at = memmem(text, length, mark, strlen(mark));
    if (!at) {
        fwrite(text, 1, length, out);
        return;
    }
    size_t before = (size_t)(at - text), after = before + strlen(mark);
    fwrite(text, 1, before, out);
    fprintf(out, "%u", days);
    fwrite(text + after, 1, length - after, out);
}

// The statements that make the tables, one after the other. `modern`: with column codecs and TTL. The caller frees the
// text; NULL: out of memory.
static char *table_statements(bool modern, unsigned days)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    for (const char *at = hs_fleet_tables; *at;) {
        if (!strncmp(at, "--", 2)) {
            at += strcspn(at, "\n");
            at += *at == '\n';
            continue;
        }
        const char *end = at + strcspn(at, "\n");
        for (const char *from = at; from < end;) {
            const char *open = memmem(from, (size_t)(end - from), "<<", 2);
            const char *close = open ? memmem(open, (size_t)(end - open), ">>", 2) : NULL;
            fwrite(from, 1, (size_t)((close ? open : end) - from), out);
            if (close && modern)
                put_modern(out, open + 2, (size_t)(close - open) - 2, days);
            from = close ? close + 2 : end;
        }
        fputc('\n', out);
        at = end + (*end == '\n');
    }
    return hs_text_stream__close(&stream);
}

static int server_version(struct hs_database *database, unsigned *version, struct hs_error *error)
{
    struct hs_buffer answer = {0};
    int failed = hs_database__ask_server(database, "SELECT version() FORMAT TabSeparated", &answer, error);
    if (!failed)
        *version = (unsigned)strtoul((const char *)answer.bytes, NULL, 10);
    hs_buffer__free(&answer);
    return failed;
}

// *version: 0 when there are no tables.
static int tables_version(struct hs_database *database, unsigned *version, struct hs_error *error)
{
    char statement[256];
    struct hs_buffer answer = {0};
    *version = 0;
    snprintf(statement, sizeof(statement),
             "SELECT count() FROM system.tables WHERE database = '%s' AND name = 'version' FORMAT TabSeparated",
             hs_database__name(database));
    int failed = hs_database__ask_server(database, statement, &answer, error);
    bool there = !failed && strtoul((const char *)answer.bytes, NULL, 10) > 0;
    hs_buffer__free(&answer);
    if (failed || !there)
        return failed;
    failed = hs_database__ask(database, "SELECT max(version) FROM version FORMAT TabSeparated", &answer, error);
    if (!failed)
        *version = (unsigned)strtoul((const char *)answer.bytes, NULL, 10);
    hs_buffer__free(&answer);
    return failed;
}

// The setting that allows dictionaries of numbers, "NAME=1": servers doubt that they are of use. Its name differs since
// 19.9. Empty: the server knows none.
static int find_setting(struct hs_database *database, char *setting, size_t size, struct hs_error *error)
{
    struct hs_buffer answer = {0};
    int failed = hs_database__ask_server(
        database,
        "SELECT name FROM system.settings WHERE name IN ('allow_suspicious_low_cardinality_types', "
        "'allow_experimental_low_cardinality_type') ORDER BY name DESC LIMIT 1 FORMAT TabSeparated",
        &answer, error);
    const char *name = failed ? "" : (const char *)answer.bytes;
    const int length = (int)strcspn(name, "\n");
    snprintf(setting, size, "%.*s%s", length, name, length ? "=1" : "");
    hs_buffer__free(&answer);
    return failed;
}

// `setting`: of find_setting.
static int make_tables(struct hs_database *database, char *statements, const char *setting, struct hs_error *error)
{
    static const char create[] = "CREATE TABLE ", view[] = "CREATE MATERIALIZED VIEW ";
    char *rest = statements, *end;
    int failed = 0;
    for (; !failed && (end = strstr(rest, ";\n")); rest = end + 2) {
        *end = 0;
        rest += strspn(rest, "\n");
        const char *head = !strncmp(rest, create, strlen(create)) ? create : view;
        char *statement = NULL;
        // A run that was ended in the middle is continued.
        if (asprintf(&statement, "%sIF NOT EXISTS %s", head, rest + strlen(head)) < 0)
            return -ENOMEM;
        failed = hs_database__ask_with(database, *setting ? setting : NULL, statement, error);
        free(statement);
    }
    return failed;
}

static int has_column(struct hs_database *database, const char *table, const char *column, bool *has,
                      struct hs_error *error)
{
    char statement[256];
    struct hs_buffer answer = {0};
    snprintf(statement, sizeof(statement),
             "SELECT count() FROM system.columns WHERE database = '%s' AND table = '%s' AND name = '%s' FORMAT "
             "TabSeparated",
             hs_database__name(database), table, column);
    int failed = hs_database__ask_server(database, statement, &answer, error);
    *has = !failed && strtoul((const char *)answer.bytes, NULL, 10) > 0;
    hs_buffer__free(&answer);
    return failed;
}

static int add_column(struct hs_database *database, const char *table, const char *column, const char *type,
                      struct hs_error *error)
{
    char statement[256];
    bool there;
    int failed = has_column(database, table, column, &there, error);
    if (failed || there)
        return failed;
    snprintf(statement, sizeof(statement), "ALTER TABLE %s ADD COLUMN %s %s", table, column, type);
    return hs_database__ask(database, statement, NULL, error);
}

// ---- older versions ------------------------------------------------------------------------------------------------

// Until version 3 the table of samples had its sums as they are, and rollups knew no moments. Version 4 had no
// dictionary of stacks. The old tables get other names first. A gatherer of the older version cannot insert meanwhile,
// and keeps its rows. A run that was ended in the middle is continued; what is inserted twice says the same twice.

struct old_table {
    const char *name, *old_name, *new_column; // that old ones lack
    const char *into, *from, *order;          // how it is copied; `order`: the first column of its key
};

#define PIECES                                                                                                         \
    "time_high, time_low, moment, begun, count_low, count_middle, count_high, size_low, size_high, rest_low, "         \
    "rest_high, freed_low, freed_middle, freed_high, excess_low, excess_middle, excess_high"

static const struct old_table old_tables[] = {
    {"sample", "sample_of_3", "moment",
     "state (stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count)",
     "stack, session, time, age, in_use_bytes, in_use_count, allocated_bytes, allocated_count", "stack"},
    {"total", "total_of_3", "moment",
     "total (session, time, in_use_bytes, in_use_count, allocated_bytes, allocated_count)",
     "session, time, in_use_bytes, in_use_count, allocated_bytes, allocated_count", "session"},
    {"sample", "sample_of_4", "key", "sample (session, key, " PIECES ")",
     "session, toLowCardinality(stack) AS key, " PIECES, "session"},
};
enum { OLD_TABLES = sizeof(old_tables) / sizeof(*old_tables), COPIED_AT_ONCE = 4000000 };

static int put_away(struct hs_database *database, const struct old_table *table, struct hs_error *error)
{
    char statement[128];
    bool there, is_new;
    int failed = has_column(database, table->name, "session", &there, error);
    if (!failed)
        failed = has_column(database, table->name, table->new_column, &is_new, error);
    if (failed || !there || is_new)
        return failed;
    snprintf(statement, sizeof(statement), "RENAME TABLE %s TO %s", table->name, table->old_name);
    return hs_database__ask(database, statement, NULL, error);
}

static int count_rows(struct hs_database *database, const char *table, uint64_t *rows, struct hs_error *error)
{
    char statement[128];
    struct hs_buffer answer = {0};
    snprintf(statement, sizeof(statement), "SELECT count() FROM %s FORMAT TabSeparated", table);
    int failed = hs_database__ask(database, statement, &answer, error);
    if (!failed)
        *rows = strtoull((const char *)answer.bytes, NULL, 10);
    hs_buffer__free(&answer);
    return failed;
}

// In parts that take seconds: nobody waits for an answer for ever.
static int copy_back(struct hs_database *database, const struct old_table *table, struct hs_error *error)
{
    char statement[1024];
    uint64_t rows = 0;
    bool there;
    int failed = has_column(database, table->old_name, "session", &there, error);
    if (failed || !there)
        return failed;
    failed = count_rows(database, table->old_name, &rows, error);
    const uint64_t parts = rows / COPIED_AT_ONCE + 1, width = UINT64_MAX / parts;
    for (uint64_t i = 0; i < parts && !failed; i++) {
        const uint64_t last = i + 1 < parts ? i * width + (width - 1) : UINT64_MAX;
        snprintf(statement, sizeof(statement),
                 "INSERT INTO %s SELECT %s FROM %s WHERE %s >= %" PRIu64 " AND %s <= %" PRIu64, table->into,
                 table->from, table->old_name, table->order, i * width, table->order, last);
        failed = hs_database__ask(database, statement, NULL, error);
    }
    snprintf(statement, sizeof(statement), "DROP TABLE %s", table->old_name);
    return failed ? failed : hs_database__ask(database, statement, NULL, error);
}

// On servers that delete samples, the old rollup knows more than they do. The time of its last state is not known: all
// samples that are left are later than the first one.
static const char from_old_rollup[] =
    "INSERT INTO stack_of_session SELECT stack, session, minState(begin), argMinState(first, begin), "
    "argMinIfState(settled, begin, age >= 3600), maxState(age), argMaxState(bytes, begin), argMaxState(blocks, begin), "
    "maxState(most), maxState(everything) FROM (SELECT stack, session, toUInt64(toUInt32(minMerge(first_time))) * "
    "4294967296 AS begin, argMinMerge(first_bytes) AS first, argMinIfMerge(settled_bytes) AS settled, "
    "maxMerge(last_age) AS age, argMaxMerge(last_bytes) AS bytes, argMaxMerge(last_count) AS blocks, "
    "maxMerge(most_bytes) AS most, maxMerge(all_bytes) AS everything FROM session_stack GROUP BY stack, session) GROUP "
    "BY stack, session";

static int put_rollups_away(struct hs_database *database, bool modern, struct hs_error *error)
{
    bool there;
    int failed = has_column(database, "session_stack", "session", &there, error);
    if (!failed && there && modern)
        failed = hs_database__ask(database, from_old_rollup, NULL, error);
    if (!failed)
        failed = hs_database__ask(database, "DROP TABLE IF EXISTS session_stack", NULL, error);
    return failed ? failed : hs_database__ask(database, "DROP TABLE IF EXISTS session_total", NULL, error);
}

// Insertions into `state` that have run for this many seconds, in any database: servers do not say in which.
static int count_insertions(struct hs_database *database, double seconds, uint64_t *count, struct hs_error *error)
{
    char statement[256];
    struct hs_buffer answer = {0};
    snprintf(statement, sizeof(statement),
             "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO state%%' AND elapsed >= %.3f FORMAT "
             "TabSeparated",
             seconds);
    int failed = hs_database__ask_server(database, statement, &answer, error);
    if (!failed)
        *count = strtoull((const char *)answer.bytes, NULL, 10);
    hs_buffer__free(&answer);
    return failed;
}

// Insertions that began before `state` was closed do not know that it is.
static int await_insertions(struct hs_database *database, struct hs_error *error)
{
    const struct timespec step = {.tv_nsec = 100000000};
    const uint64_t closed = hs_clock__now();
    for (;;) {
        const double passed = (double)(hs_clock__now() - closed) / HS_SECOND;
        uint64_t count = 0;
        int failed = count_insertions(database, passed, &count, error);
        if (failed || !count)
            return failed;
        if (passed >= INSERTIONS_SECONDS)
            return hs_error__set(error, ETIMEDOUT,
                                 "%s: %" PRIu64
                                 " INSERT INTO state that began before the update did not end in %d s; no "
                                 "row was moved. End them (see system.processes) and run 'heapsonde fleet init' again",
                                 hs_database__address(database), count, INSERTIONS_SECONDS);
        nanosleep(&step, NULL);
    }
}

// While the view that fills `sample` is replaced, nothing may be inserted into `state`: it would be lost.
static int close_state(struct hs_database *database, struct hs_error *error)
{
    bool there, is_new;
    int failed = has_column(database, "sample", "moment", &there, error);
    if (!failed)
        failed = has_column(database, "sample", "key", &is_new, error);
    if (failed || !there || is_new)
        return failed;
    failed = hs_database__ask(database,
                              "CREATE MATERIALIZED VIEW IF NOT EXISTS closed_for_update ENGINE = Null AS SELECT "
                              "throwIf(toString(session) != '') AS refused FROM state",
                              NULL, error);
    if (!failed)
        failed = await_insertions(database, error);
    return failed ? failed : hs_database__ask(database, "DROP TABLE IF EXISTS sample_of_state", NULL, error);
}

// Before the new tables are made, and behind it.
static int begin_update(struct hs_database *database, struct hs_error *error)
{
    int failed = add_column(database, "session", "estimated", "UInt8", error);
    if (!failed)
        failed = hs_database__ask(database, "DROP TABLE IF EXISTS growth", NULL, error); // made anew when it is asked
    if (!failed)
        failed = hs_database__ask(database, "DROP TABLE IF EXISTS rollup", NULL, error);
    if (!failed)
        failed = close_state(database, error);
    for (unsigned i = 0; i < OLD_TABLES && !failed; i++)
        failed = put_away(database, &old_tables[i], error);
    return failed;
}

static int end_update(struct hs_database *database, bool modern, struct hs_error *error)
{
    int failed = hs_database__ask(database, "DROP TABLE IF EXISTS closed_for_update", NULL, error);
    if (!failed)
        failed = put_rollups_away(database, modern, error);
    for (unsigned i = 0; i < OLD_TABLES && !failed; i++)
        failed = copy_back(database, &old_tables[i], error);
    return failed;
}

int hs_fleet_schema__init(struct hs_database *database, unsigned days, bool *made, struct hs_error *error)
{
    unsigned server, version;
    char statement[128], setting[64];
    *made = false;
    int failed = server_version(database, &server, error);
    if (!failed)
        failed = tables_version(database, &version, error);
    if (failed || version == HS_FLEET_SCHEMA)
        return failed;
    // Older tables lack some, and what they have is the same.
    if (version > HS_FLEET_SCHEMA)
        return hs_fleet_schema__check(database, error);
    char *statements = table_statements(server >= MODERN, days);
    if (!statements)
        return hs_error__set(error, ENOMEM, "out of memory");
    snprintf(statement, sizeof(statement), "CREATE DATABASE IF NOT EXISTS %s", hs_database__name(database));
    failed = hs_database__ask_server(database, statement, NULL, error);
    if (!failed)
        failed = find_setting(database, setting, sizeof(setting), error);
    if (!failed && version)
        failed = begin_update(database, error);
    if (!failed)
        failed = make_tables(database, statements, setting, error);
    if (!failed && version)
        failed = end_update(database, server >= MODERN, error);
    snprintf(statement, sizeof(statement), "INSERT INTO version SELECT %u, now()", HS_FLEET_SCHEMA);
    if (!failed)
        failed = hs_database__ask(database, statement, NULL, error);
    free(statements);
    *made = !failed;
    return failed;
}

int hs_fleet_schema__check(struct hs_database *database, struct hs_error *error)
{
    unsigned version;
    int failed = tables_version(database, &version, error);
    if (failed || version == HS_FLEET_SCHEMA)
        return failed;
    if (!version)
        return hs_error__set(error, ENOENT, "%s: it has no tables of heapsonde; 'heapsonde fleet init %s' makes them",
                             hs_database__address(database), hs_database__address(database));
    if (version < HS_FLEET_SCHEMA)
        return hs_error__set(error, EEXIST,
                             "%s: the tables have version %u, and this heapsonde needs %u; nothing was written. "
                             "'heapsonde fleet init %s' updates them",
                             hs_database__address(database), version, HS_FLEET_SCHEMA, hs_database__address(database));
    return hs_error__set(
        error, EEXIST,
        "%s: the tables have version %u, and this heapsonde needs %u; nothing was written. Use another "
        "database, or the heapsonde that made this one",
        hs_database__address(database), version, HS_FLEET_SCHEMA);
}
