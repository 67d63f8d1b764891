// SPDX-License-Identifier: MIT OR Apache-2.0
//
// In place of fleet.c, fleet_rows.c and fleet_flame.c in a build without libcurl.
#include "host/rest/answers.h"
#include "host/rest/fleet.h"

#include <errno.h>

static int absent(struct hs_error *error)
{
    return hs_error__set(error, ENOENT,
                         "this heapsonde was built without libcurl, which asking a database needs; install another "
                         "build");
}

int hs_rest_fleet__create(struct hs_rest_fleet **fleet, const char *address, unsigned seconds, struct hs_error *error)
{
    (void)address, (void)seconds;
    *fleet = NULL;
    return absent(error);
}

void hs_rest_fleet__destroy(struct hs_rest_fleet *fleet)
{
    (void)fleet;
}

const char *hs_rest_fleet__address(const struct hs_rest_fleet *fleet)
{
    (void)fleet;
    return "";
}

int hs_rest_fleet__take(struct hs_rest_fleet *fleet, const int *cancel, struct hs_database **database,
                        struct hs_error *error)
{
    (void)fleet, (void)cancel, (void)database;
    return absent(error);
}

void hs_rest_fleet__give_back(struct hs_rest_fleet *fleet, struct hs_database *database)
{
    (void)fleet, (void)database;
}

int hs_prepare__fleet_rows(struct hs_question *question)
{
    return absent(&question->error);
}

int hs_prepare__fleet_stack(struct hs_question *question)
{
    return absent(&question->error);
}

int hs_prepare__fleet_flame(struct hs_question *question)
{
    return absent(&question->error);
}

int hs_prepare__fleet_export(struct hs_question *question)
{
    return absent(&question->error);
}

int hs_answer__fleet_rows(struct hs_question *question, FILE *out)
{
    (void)question, (void)out;
    return -ENOENT;
}

int hs_answer__fleet_flame(struct hs_question *question, FILE *out)
{
    (void)question, (void)out;
    return -ENOENT;
}

int hs_answer__fleet_export(struct hs_question *question, FILE *out)
{
    (void)question, (void)out;
    return -ENOENT;
}
