// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/rollup.h"

#include "host/fleet/questions.h"
#include "host/fleet/tsv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ROWS_AT_ONCE ((uint64_t)250000) // of `stack_of_session`

static int run(struct hs_database *database, struct hs_error *error, const char *format, uint64_t number)
{
    char statement[128];
    snprintf(statement, sizeof(statement), format, number);
    return hs_database__ask(database, statement, NULL, error);
}

// Later than all others, in the same second and after a clock was set back, too: the last one is what is read, and what
// a run that was ended left must not be part of it. Two that begin at once have numbers of their own.
static int begin(struct hs_database *database, uint64_t *made, uint64_t *parts, struct hs_error *error)
{
    struct hs_buffer answer = {0};
    char *field[2] = {"0", "0"};
    uint32_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return hs_error__set(error, errno, "no random number: %s", strerror(errno));
    int failed = hs_database__ask(database,
                                  "SELECT greatest(toUInt64(toUInt32(now())), 1 + intDiv(greatest((SELECT max(made) "
                                  "FROM growth), max(made)), 4294967296)), "
                                  "(SELECT count() FROM stack_of_session) FROM rollup FORMAT TabSeparated",
                                  &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    if (!failed && hs_tsv__next(&table, field, 2)) {
        *made = strtoull(field[0], NULL, 10) << 32 | random;
        *parts = strtoull(field[1], NULL, 10) / ROWS_AT_ONCE + 1;
    }
    hs_buffer__free(&answer);
    return failed;
}

static int make_part(struct hs_database *database, const struct hs_fleet_part *part, uint64_t least,
                     struct hs_error *error)
{
    const struct hs_fleet_slice slice = {.least = least, .part = part};
    char *statement = hs_fleet_question__statement(&hs_fleet_rollup_part, &slice);
    int failed =
        statement ? hs_database__ask(database, statement, NULL, error) : hs_error__set(error, ENOMEM, "out of memory");
    free(statement);
    return failed;
}

// The last but one stays: somebody may be reading it.
static int drop_older(struct hs_database *database, uint64_t made, struct hs_error *error)
{
    char statement[256];
    struct hs_buffer answer = {0};
    char *field[1];
    snprintf(statement, sizeof(statement),
             "SELECT DISTINCT made FROM growth WHERE made < (SELECT max(made) FROM rollup WHERE made < %" PRIu64
             ") FORMAT TabSeparated",
             made);
    int failed = hs_database__ask(database, statement, &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    while (!failed && hs_tsv__next(&table, field, 1))
        failed = run(database, error, "ALTER TABLE growth DROP PARTITION %" PRIu64, strtoull(field[0], NULL, 10));
    hs_buffer__free(&answer);
    return failed;
}

int hs_fleet_rollup__make(struct hs_database *database, uint64_t least, struct hs_error *error)
{
    struct hs_fleet_part part = {0};
    uint64_t parts = 1;
    int failed = begin(database, &part.made, &parts, error);
    const uint64_t width = UINT64_MAX / parts;
    for (uint64_t i = 0; i < parts && !failed; i++) {
        part.first = i * width;
        part.last = i + 1 < parts ? part.first + (width - 1) : UINT64_MAX;
        failed = make_part(database, &part, least, error);
    }
    if (!failed)
        failed = run(database, error, "INSERT INTO rollup SELECT toUInt64(%" PRIu64 ")", part.made);
    return failed ? failed : drop_older(database, part.made, error);
}
