// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The tables of the fleet in a database (schema/tables.sql), and their version.
#ifndef HEAPSONDE_HOST_FLEET_SCHEMA_H
#define HEAPSONDE_HOST_FLEET_SCHEMA_H

#include "host/fleet/database.h"

enum { HS_FLEET_SCHEMA = 5 };

extern const char hs_fleet_tables[]; // schema/tables.sql

// Makes the database and its tables where they are missing, also those that tables of an older version lack. `days`:
// how long samples are kept, where the server can do that. *made: whether something was missing. 0, or a negative
// errno; -EEXIST: tables of a newer version are there.
int hs_fleet_schema__init(struct hs_database *database, unsigned days, bool *made, struct hs_error *error);

// 0 if the tables are there in this version, else a negative errno with what to do in `error`.
int hs_fleet_schema__check(struct hs_database *database, struct hs_error *error);

#endif
