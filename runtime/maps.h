// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Parses /proc/self/maps.
#ifndef HEAPSONDE_RUNTIME_MAPS_H
#define HEAPSONDE_RUNTIME_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One line. The path is not terminated.
struct hs_maps_line {
    uint64_t start, end;
    uint64_t offset; // in the file
    uint64_t inode;
    bool readable, executable;
    const char *path;
    size_t path_length;
};

// Reads the line at `text`, which ends with '\n' or NUL, and returns its end.
const char *hs_maps_line__parse(struct hs_maps_line *mapping, const char *text);

// Mappings that form a module, in the order of addresses. The position in the file is that of the first one.
struct hs_mapped {
    uint64_t start, end;
    uint64_t first_end; // of the first mapping
    uint64_t offset;    // of `start` in the file
    uint64_t inode;
    uint64_t reach;                    // end of what the headers at `start` load; 0: no headers; 1: they cannot be read
    bool first_executable, executable; // the first one, any
};

#endif
