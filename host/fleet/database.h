// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A ClickHouse server, over HTTP. Not thread-safe: each thread opens its own.
#ifndef HEAPSONDE_HOST_FLEET_DATABASE_H
#define HEAPSONDE_HOST_FLEET_DATABASE_H

#include "host/base/buffer.h"
#include "host/base/error.h"

#include <stdbool.h>

struct hs_database;

// `address`: clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, or clickhouses:// over TLS. Without a user, ~/.netrc
// is read. Nothing is connected yet. 0, or a negative errno: -EINVAL for what is no such address.
int hs_database__open(const char *address, struct hs_database **database, struct hs_error *error);
void hs_database__close(struct hs_database *database);

const char *hs_database__name(const struct hs_database *database);
// The address without the password, for messages.
const char *hs_database__address(const struct hs_database *database);

// For all later statements: each ends after `seconds`, or soon after `*cancel` (which may be NULL) becomes nonzero. The
// server is asked to end it, too. 0 seconds: no limit while the server sends something.
void hs_database__limit(struct hs_database *database, const int *cancel, unsigned seconds);

bool hs_database__is_cancelled(const struct hs_database *database);

// Runs a statement. `answer` (may be NULL) receives what the server says, ended by a NUL that does not count; the
// caller frees it. 0, or a negative errno with the reason in `error`:
//   -ECONNREFUSED  the server cannot be reached, or the connection was lost: whether the statement was run is unknown
//   -EREMOTEIO     the server refuses the statement; `error` holds the server's words
//   -ETIMEDOUT, -ECANCELED  of hs_database__limit
//   -ENOMEM
int hs_database__ask(struct hs_database *database, const char *statement, struct hs_buffer *answer,
                     struct hs_error *error);

// The same with a setting of the server, "NAME=VALUE", or NULL.
int hs_database__ask_with(struct hs_database *database, const char *setting, const char *statement,
                          struct hs_error *error);

// The same without naming the database, which may not exist yet.
int hs_database__ask_server(struct hs_database *database, const char *statement, struct hs_buffer *answer,
                            struct hs_error *error);

// Inserts rows, which are packed with gzip on the way. `into`: "TABLE (COLUMN, ...)". The rows of one call appear
// together or, if it fails, possibly not at all: the caller sends them again.
int hs_database__insert(struct hs_database *database, const char *into, const struct hs_buffer *rows,
                        struct hs_error *error);

#endif
