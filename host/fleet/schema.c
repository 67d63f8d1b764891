// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/schema.h"

#include "host/base/text_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Column codecs exist since 19.1, and T64 since 19.11; TTL of tables since 19.6.
enum { MODERN = 20 };

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

char *hs_fleet_schema__statements(bool modern, unsigned days)
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

static int make_tables(struct hs_database *database, char *statements, struct hs_error *error)
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
        failed = hs_database__ask(database, statement, NULL, error);
        free(statement);
    }
    return failed;
}

static int add_column(struct hs_database *database, const char *table, const char *column, const char *type,
                      struct hs_error *error)
{
    char statement[256];
    struct hs_buffer answer = {0};
    snprintf(statement, sizeof(statement),
             "SELECT count() FROM system.columns WHERE database = '%s' AND table = '%s' AND name = '%s' FORMAT "
             "TabSeparated",
             hs_database__name(database), table, column);
    int failed = hs_database__ask_server(database, statement, &answer, error);
    bool there = !failed && strtoul((const char *)answer.bytes, NULL, 10) > 0;
    hs_buffer__free(&answer);
    if (failed || there)
        return failed;
    snprintf(statement, sizeof(statement), "ALTER TABLE %s ADD COLUMN %s %s", table, column, type);
    return hs_database__ask(database, statement, NULL, error);
}

// What tables of older versions lack; a run that was ended in the middle is continued.
static int bring_up(struct hs_database *database, unsigned version, struct hs_error *error)
{
    int failed = 0;
    // What fills it may have ended in the middle.
    if (version == 1)
        failed = hs_database__ask(database, "DROP TABLE IF EXISTS session_total", NULL, error);
    if (!failed)
        failed = add_column(database, "session", "estimated", "UInt8", error);
    return failed ? failed : add_column(database, "growth", "estimated_devices", "UInt64", error);
}

int hs_fleet_schema__init(struct hs_database *database, unsigned days, bool *made, struct hs_error *error)
{
    unsigned server, version;
    char statement[128];
    *made = false;
    int failed = server_version(database, &server, error);
    if (!failed)
        failed = tables_version(database, &version, error);
    if (failed || version == HS_FLEET_SCHEMA)
        return failed;
    // Older tables lack some, and what they have is the same.
    if (version > HS_FLEET_SCHEMA)
        return hs_fleet_schema__check(database, error);
    char *statements = hs_fleet_schema__statements(server >= MODERN, days);
    if (!statements)
        return hs_error__set(error, ENOMEM, "out of memory");
    snprintf(statement, sizeof(statement), "CREATE DATABASE IF NOT EXISTS %s", hs_database__name(database));
    failed = hs_database__ask_server(database, statement, NULL, error);
    if (!failed && version)
        failed = bring_up(database, version, error);
    if (!failed)
        failed = make_tables(database, statements, error);
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
        return hs_error__set(error, ENOENT,
                             "%s: there are no tables of heapsonde; 'heapsonde fleet init %s' makes them",
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
