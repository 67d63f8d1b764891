// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file .heapsonde-fleet of a folder of gathered traces: which of them go into the database, for which device, and
// how far they are there. Lines of "SESSION OFFSET done|open FILE DEVICE LABELS"; in the last three, what is no letter,
// digit, dot, dash or underscore is %XX. What cannot be read counts as not written: such rows are sent again.
#ifndef HEAPSONDE_HOST_FLEET_PROGRESS_FILE_H
#define HEAPSONDE_HOST_FLEET_PROGRESS_FILE_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_PROGRESS_TEXT = 512 };

struct hs_progress_line {
    uint8_t trace_id[16];
    uint64_t offset; // all ticks up to here are in the database
    bool done;       // the trace has ended, and all of it is there
    char file[HS_PROGRESS_TEXT], device[HS_PROGRESS_TEXT], labels[HS_PROGRESS_TEXT];
};

// Calls `take` for each line. A missing file has none. 0, or a negative errno.
int hs_progress_file__read(int folder, void (*take)(void *context, const struct hs_progress_line *line), void *context);

// Writes a new file beside the old one, then replaces it. `next` returns false after the last line.
int hs_progress_file__write(int folder, bool (*next)(void *context, struct hs_progress_line *line), void *context);

#endif
