// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a slice of the fleet has in use, as a heap dump: in every format of `export` that holds sums, and as trees.
#ifndef HEAPSONDE_HOST_FLEET_SLICE_DUMP_H
#define HEAPSONDE_HOST_FLEET_SLICE_DUMP_H

#include "host/dump/dump.h"
#include "host/export/export.h"
#include "host/fleet/database.h"
#include "host/fleet/questions.h"

// The formats that hs_slice_dump__check_format() accepts.
#define HS_SLICE_DUMP_CHOICES HS_EXPORT_STACK_CHOICES "pprof symbolized"

// `per_device`: every number is divided by the number of devices of the slice. 0, or a negative errno with the reason
// in `error`. hs_dump__close frees the dump.
int hs_slice_dump__make(struct hs_database *database, const struct hs_fleet_slice *slice, bool per_device,
                        struct hs_dump **dump, struct hs_error *error);

// -EINVAL: a slice cannot be written in the format of this name, and `error` lists those in which it can; else 0.
int hs_slice_dump__check_format(const char *word, struct hs_error *error);

// Writes the numbers of bytes or `blocks`; the format was checked. 0 or -ENOMEM.
int hs_slice_dump__write(FILE *out, const struct hs_dump *dump, const char *word, bool blocks);

#endif
