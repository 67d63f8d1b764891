// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The columns of an import from which another can continue (host/import/partial.h).
#ifndef HEAPSONDE_IMPORT_PARTIAL_COLUMNS_H
#define HEAPSONDE_IMPORT_PARTIAL_COLUMNS_H

#include "host/base/array.h"
#include "host/store/packed.h"

// X(column): written when rows start.
#define HS_PARTIAL_STARTS(X)                                                                                           \
    X(time)                                                                                                            \
    X(address)                                                                                                         \
    X(size)                                                                                                            \
    X(slack)                                                                                                           \
    X(stack)                                                                                                           \
    X(stream)                                                                                                          \
    X(detail)
// X(column): in a file of its own; blocks in which rows have ended since the last state are written again.
#define HS_PARTIAL_ENDS(X)                                                                                             \
    X(free_time)                                                                                                       \
    X(free_stack)                                                                                                      \
    X(free_stream)                                                                                                     \
    X(state)

struct hs_partial {
#define HS_WRITER(name) struct hs_packed_writer name;
    HS_PARTIAL_ENDS(HS_WRITER)
#undef HS_WRITER
    struct hs_array live; // uint16_t: number of live rows of each block when it was last written
    bool started;
};

#endif
