// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file `resume` of a store whose trace was still being written. It contains the state of the import at a time up to
// which the trace was complete. A later import takes the rows from the columns of that store and continues from there.
// The file `partial` of an unfinished import (host/import/partial.h) contains the same, and the positions of the blocks
// of its columns.
#ifndef HEAPSONDE_IMPORT_RESUME_H
#define HEAPSONDE_IMPORT_RESUME_H

#include "host/import/builder.h"
#include "host/import/consumed.h"
#include "host/import/partial_columns.h"

struct hs_resume;

struct hs_resume_state {
    const struct hs_trace *trace;
    uint64_t time; // recorded time of the state
    const struct hs_array *consumed;
    const struct hs_partial *partial; // NULL: for a store that will be complete
    const struct hs_node *nodes;      // of the store, as many as the builder expects
};
// Writes the current state to the file. Returns 0 or a negative errno.
int hs_resume__write(const struct hs_builder *builder, const struct hs_resume_state *state, int directory_fd);

// Opens the state of the store or unfinished import in `directory`. NULL: there is none that can be used for this
// trace.
struct hs_resume *hs_resume__open(const char *directory, const struct hs_trace *trace);
struct hs_resume *hs_resume__open_partial(const char *directory, const struct hs_trace *trace);
void hs_resume__close(struct hs_resume *resume);
uint64_t hs_resume__time(const struct hs_resume *resume);
const struct hs_consumed *hs_resume__consumed(const struct hs_resume *resume, size_t *count);

// Restores an empty builder. `nodes`: of the store, as many as the builder expects. -ESTALE: the state is not of this
// trace, or a node has another number now; do not use the builder after that.
int hs_resume__restore(const struct hs_resume *resume, struct hs_builder *builder, const struct hs_node *nodes);

#endif
