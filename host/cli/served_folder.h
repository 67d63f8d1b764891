// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces in a folder into which `gather` receives, for a server that shows them as they come.
#ifndef HEAPSONDE_HOST_CLI_SERVED_FOLDER_H
#define HEAPSONDE_HOST_CLI_SERVED_FOLDER_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct hs_served_folder {
    const char *path;
    // private: those that were opened, or cannot be, by name
    struct hs_served_entry *entry;
    size_t count, room;
};

// Calls `open` for what has come since the last time, traces and folders of dumps. If it fails, it is called again the
// next times, at most TRIES, because a file may not be complete yet; `last` is true for the last one. Not 0 ends it:
// -ECANCELED of `open`, or -ENOMEM.
enum { HS_SERVED_FOLDER_TRIES = 20 };
int hs_served_folder__look(struct hs_served_folder *folder, int (*open)(void *context, const char *path, bool last),
                           void *context);
void hs_served_folder__free(struct hs_served_folder *folder);

#endif
