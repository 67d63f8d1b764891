// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a killed import leaves to go on from. A long one writes, now and then, how its rows ended so far, and then the
// file `partial` in one step: the state as in the file `resume`, with where each block lies in the files of the
// columns, which only grow. There is no head: it is no store.
#ifndef HEAPSONDE_IMPORT_PARTIAL_H
#define HEAPSONDE_IMPORT_PARTIAL_H

#include "host/import/builder.h"

// X(column): written as rows start.
#define HS_PARTIAL_STARTS(X)                                                                                           \
    X(time)                                                                                                            \
    X(address)                                                                                                         \
    X(size)                                                                                                            \
    X(slack)                                                                                                           \
    X(stack)                                                                                                           \
    X(stream)                                                                                                          \
    X(detail)
// X(column): written anew where rows ended since the last time, to a file of its own.
#define HS_PARTIAL_ENDS(X)                                                                                             \
    X(free_time)                                                                                                       \
    X(free_stack)                                                                                                      \
    X(free_stream)                                                                                                     \
    X(state)

struct hs_partial {
#define HS_WRITER(name) struct hs_packed_writer name;
    HS_PARTIAL_ENDS(HS_WRITER)
#undef HS_WRITER
    struct hs_array live; // uint16_t: rows of each block that were live when it was last written
    bool started;
};

struct hs_resume_state;

// Writes how things stand. Returns 0 or a negative errno: then there is none.
int hs_partial__keep(struct hs_partial *partial, struct builder *builder, const struct hs_resume_state *state);
// Closes its files and, unless they are kept, removes them.
void hs_partial__end(struct hs_partial *partial, int directory_fd, bool kept);

#endif
