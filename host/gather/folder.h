// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces in a folder, for those who read what gather writes there, also meanwhile.
#ifndef HEAPSONDE_HOST_GATHER_FOLDER_H
#define HEAPSONDE_HOST_GATHER_FOLDER_H

#include "host/base/error.h"
#include "host/gather/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_folder_trace {
    char *path;
    char *program; // its name, as the name of the file has it; "": unknown
    char *device;  // its name or address; "": unknown. Both come from the network: they may hold anything
    uint32_t pid;
    uint64_t began; // ns since 1970
    uint8_t id[HS_TRACE_ID_SIZE];
    bool ended;
};

// Those that have not ended come first, and of these the newest.
struct hs_folder {
    struct hs_folder_trace *trace;
    size_t count;
};

// Files that are no traces are left out. Returns 0, or a negative errno with the error set.
int hs_folder__read(struct hs_folder *folder, const char *path, struct hs_error *error);
void hs_folder__free(struct hs_folder *folder);

// Whether this is the name of its device or program, or its process id.
bool hs_folder_trace__is(const struct hs_folder_trace *trace, const char *text);

#endif
