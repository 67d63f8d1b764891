// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The database of many devices that the server asks (docs/fleet.md). At most HS_FLEET_CONNECTIONS questions are asked
// at a time; others wait.
#ifndef HEAPSONDE_HOST_REST_FLEET_H
#define HEAPSONDE_HOST_REST_FLEET_H

#include "host/base/error.h"

enum { HS_FLEET_CONNECTIONS = 4 };

struct hs_database;
struct hs_rest_fleet;

// `address` as hs_database__open takes it; nothing is connected yet. `seconds`: how long an answer may take. 0, or a
// negative errno with the reason, without the password.
int hs_rest_fleet__create(struct hs_rest_fleet **fleet, const char *address, unsigned seconds, struct hs_error *error);
void hs_rest_fleet__destroy(struct hs_rest_fleet *fleet);

// Without the user and the password.
const char *hs_rest_fleet__address(const struct hs_rest_fleet *fleet);

// Waits until a question may be asked. Statements of this connection end when `*cancel` becomes not 0. 0, or a negative
// errno with the reason: -ECANCELED, -ETIMEDOUT, -ENOMEM.
int hs_rest_fleet__take(struct hs_rest_fleet *fleet, const int *cancel, struct hs_database **database,
                        struct hs_error *error);
void hs_rest_fleet__give_back(struct hs_rest_fleet *fleet, struct hs_database *database);

#endif
