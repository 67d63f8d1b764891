// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Puts what `gather` receives into a database, while it comes. The gathered files are the spool: a thread of its own
// reads them, so that no device waits for the database, and goes on behind what the database has confirmed, also in the
// next run (progress_file.h). Memory does not grow while the database is away: then nothing is read.
#ifndef HEAPSONDE_HOST_FLEET_SHIPPER_H
#define HEAPSONDE_HOST_FLEET_SHIPPER_H

#include "host/fleet/database.h"
#include "host/gather/traces.h"

struct hs_shipper;

struct hs_shipper_options {
    const char *address;        // of the database
    const char *directory;      // of the traces
    const char *firmware_label; // the label that names the firmware
    bool in_place;              // a trace that has ended is removed when all of it is in the database
    // One line for people, from the shipper's thread: the database cannot be reached, or is back.
    void (*say)(void *context, const char *line);
    void *context;
};

// Connects once, so that a wrong address or missing tables are reported at once. A database that cannot be reached may
// come later. 0, or a negative errno.
int hs_shipper__create(struct hs_shipper **shipper, const struct hs_shipper_options *options, struct hs_error *error);

// Starts the thread. `traces` stays valid until hs_shipper__stop.
int hs_shipper__start(struct hs_shipper *shipper, struct hs_traces *traces, struct hs_error *error);

// A last round, then ends the thread. Returns the number of traces of which the database lacks something.
size_t hs_shipper__stop(struct hs_shipper *shipper);
void hs_shipper__free(struct hs_shipper *shipper);

#endif
