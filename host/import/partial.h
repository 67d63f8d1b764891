// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a killed import leaves to go on from. A long one writes, now and then, how its rows ended so far, and then the
// file `partial` in one step: the state as in the file `resume`, with where each block lies in the files of the
// columns, which only grow. There is no head: it is no store.
#ifndef HEAPSONDE_IMPORT_PARTIAL_H
#define HEAPSONDE_IMPORT_PARTIAL_H

#include "host/import/builder.h"
#include "host/import/partial_columns.h"

struct hs_resume_state;

// Writes how things stand. Returns 0 or a negative errno: then there is none.
int hs_partial__keep(struct hs_partial *partial, struct hs_builder *builder, const struct hs_resume_state *state);
// Closes its files and, unless they are kept, removes them.
void hs_partial__end(struct hs_partial *partial, int directory_fd, bool kept);

#endif
