// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Puts what the stacks of a trace have into the database: the ticks of a trace of sums while it grows, those of a trace
// of events when it is whole.
#ifndef HEAPSONDE_HOST_FLEET_LOAD_H
#define HEAPSONDE_HOST_FLEET_LOAD_H

#include "host/fleet/sender.h"

#include <sys/types.h>

struct hs_fleet_loaded {
    uint64_t ticks, rows, damaged;
    bool unread; // the file has more than what was read
};

// A trace that is read while it grows.
struct hs_fleet_load;

// Opens a trace. -ENOTSUP: it is a stream of dumps. The strings of `device` are copied; device->clock_ns is set here,
// when the device's clock was before 2001: then the trace's last tick is taken to be when its file was last changed.
int hs_fleet_load__open(const char *path, const struct hs_sender_device *device, struct hs_fleet_load **load,
                        struct hs_error *error);
void hs_fleet_load__close(struct hs_fleet_load *load);

// Adds all ticks that the file has by now (`whole`: it will not grow), and inserts them whenever a batch is full. Ticks
// that end at `from` or before are read, but not added. The last ones may still wait in the sender. *to: behind the
// last tick. 0, or a negative errno.
int hs_fleet_load__go_on(struct hs_fleet_load *load, struct hs_sender *sender, bool whole, uint64_t from, uint64_t *to,
                         struct hs_fleet_loaded *loaded, struct hs_error *error);

#endif
