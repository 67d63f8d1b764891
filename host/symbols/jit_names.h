// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The names of code that a program made while it ran, from what its runtime wrote for perf: maps (`perf-PID.map`: a
// line with address, size and name for each function) and dumps (host/symbols/jit_dump.h). The files are hostile: what
// cannot be read is counted.
#ifndef HEAPSONDE_HOST_SYMBOLS_JIT_NAMES_H
#define HEAPSONDE_HOST_SYMBOLS_JIT_NAMES_H

#include "host/base/array.h"
#include "host/symbols/jit_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_JIT_NAMES_MOST = 4 << 20 }; // functions

struct hs_jit_function {
    uint64_t start, end;
    uint64_t time;        // CLOCK_MONOTONIC, from which it is there; 0: not known
    uint64_t reach;       // private: largest end in its half of the sorted functions
    const char *name;     // private
    const uint8_t *lines; // private: a DEBUG_INFO record's body; NULL: none
    uint32_t name_length, lines_length;
    uint32_t order; // private: the number in the order of the files
    bool is_swapped, is_of_dump;
};

struct hs_jit_names {
    size_t damaged;  // lines and files that could not be read
    size_t left_out; // functions beyond HS_JIT_NAMES_MOST
    // Private.
    struct hs_jit_function *function;
    size_t count, room;
    uint32_t added; // functions; some may have been removed
    uint8_t **text; // of the files
    size_t text_count, text_room;
    bool is_sorted;
};

// Whether a file of this name is one: by the last part of its path.
bool hs_jit_names__is_file(const char *path);

// Adds what a file contains. `text` is the callee's from then on: `length` bytes of malloc's, with room for one more. A
// file that is added later has precedence. Returns 0 or -ENOMEM.
int hs_jit_names__add(struct hs_jit_names *names, uint8_t *text, size_t length);
void hs_jit_names__free(struct hs_jit_names *names);

// The function that covers an address. If dumps know several, that which was there at `time`; of maps, the last one.
// `time` is UINT64_MAX if it is unknown. *depends: whether the answer depends on the time. NULL: none.
const struct hs_jit_function *hs_jit_names__find(struct hs_jit_names *names, uint64_t address, uint64_t time,
                                                 bool *depends);

// Its name, and the file and line at the address.
void hs_jit_names__text(const struct hs_jit_function *function, uint64_t address, struct hs_jit_text *to);

#endif
