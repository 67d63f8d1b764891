// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The option --store of `gather`: what is received also goes into a database.
#ifndef HEAPSONDE_HOST_CLI_GATHER_STORE_H
#define HEAPSONDE_HOST_CLI_GATHER_STORE_H

#include "host/cli/command.h"
#include "host/gather/gather.h"

struct hs_gather_store;

// Prepares `options` when --store was given; else *store is NULL. Returns 0, or the exit status after a line on
// standard error.
int hs_gather_store__prepare(struct hs_gather_store **store, const struct hs_arguments *arguments,
                             struct hs_gather_options *options);

// When gather has ended. Says what the database lacks.
void hs_gather_store__end(struct hs_gather_store *store);

#endif
