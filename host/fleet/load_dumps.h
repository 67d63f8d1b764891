// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Puts heap dumps of samplers into the database. Dumps of one process are one session: the program, its number, the
// device and the beginning of sampling in them say which. A dump without these is a session of its own. Numbers are the
// estimates that reports contain.
#ifndef HEAPSONDE_HOST_FLEET_LOAD_DUMPS_H
#define HEAPSONDE_HOST_FLEET_LOAD_DUMPS_H

#include "host/fleet/load.h"

struct hs_fleet_dump_files;

// `sender` and `database` stay the caller's. NULL: out of memory.
struct hs_fleet_dump_files *hs_fleet_dump_files__create(struct hs_sender *sender, struct hs_database *database);
void hs_fleet_dump_files__free(struct hs_fleet_dump_files *files);

// Notes a dump of `device`, which stays the caller's until `files` is freed. -ENOTSUP: it has no addresses in files, or
// nothing that is in use; other errors are those of reading it.
int hs_fleet_dump_files__add(struct hs_fleet_dump_files *files, const struct hs_sender_device *device, const char *path,
                             struct hs_error *error);

// Adds the rows of all dumps that were noted; the last ones may still wait in the sender. Dumps may be loaded in any
// order and several times, and loading may be interrupted at any moment: the tables are the same in the end.
int hs_fleet_dump_files__load(struct hs_fleet_dump_files *files, struct hs_fleet_loaded *loaded,
                              struct hs_error *error);

#endif
