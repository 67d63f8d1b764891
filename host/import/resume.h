// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file `resume` of a store whose trace was still being written: how things stood at a time up to which the trace
// was known as a whole. A later import takes the rows from that store's columns and goes on from there. The file
// `partial` of an import that did not end (host/import/partial.h) is the same and also tells where its columns' blocks
// are.
#ifndef HEAPSONDE_IMPORT_RESUME_H
#define HEAPSONDE_IMPORT_RESUME_H

#include "host/import/builder.h"
#include "host/import/consumed.h"
#include "host/import/partial_columns.h"

struct hs_resume;

struct hs_resume_state {
    const struct hs_trace *trace;
    uint64_t time; // recorded time of the cut
    const struct hs_array *consumed;
    const struct hs_partial *partial; // NULL: for a store that will be a whole one
};
// Writes the file as things stand now. Returns 0 or a negative errno.
int hs_resume__write(const struct hs_builder *builder, const struct hs_resume_state *state, int directory_fd);

// Opens what the store in `directory` says, or the import that left it. NULL: there is nothing of this trace that can
// be used.
struct hs_resume *hs_resume__open(const char *directory, const struct hs_trace *trace);
struct hs_resume *hs_resume__open_partial(const char *directory, const struct hs_trace *trace);
void hs_resume__close(struct hs_resume *resume);
uint64_t hs_resume__time(const struct hs_resume *resume);
const struct hs_consumed *hs_resume__consumed(const struct hs_resume *resume, size_t *count);

// Makes an empty builder what it was. -ESTALE: it is none of this trace after all, and the builder cannot be used.
int hs_resume__restore(const struct hs_resume *resume, struct hs_builder *builder);

#endif
