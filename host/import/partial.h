// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The state from which an import can continue after it was killed. From time to time a long import writes how its rows
// ended so far, and then atomically the file `partial`. This contains the same as the file `resume` and also the
// positions of all blocks in the files of the columns, which only grow. Without a head, the directory is not a store.
#ifndef HEAPSONDE_IMPORT_PARTIAL_H
#define HEAPSONDE_IMPORT_PARTIAL_H

#include "host/import/builder.h"
#include "host/import/partial_columns.h"

struct hs_resume_state;

// Writes the current state. Returns 0 or a negative errno; then there is no state.
int hs_partial__keep(struct hs_partial *partial, struct hs_builder *builder, const struct hs_resume_state *state);
// Closes the files, and removes them unless they are kept.
void hs_partial__end(struct hs_partial *partial, int directory_fd, bool kept);

#endif
