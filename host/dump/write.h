// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writing a dump in any format that dumps come in. Where a format can hold them, counts are written as they were read;
// where it holds estimates, or the dump does, readers of the result arrive at the same estimates. Contexts without
// counts are left out.
#ifndef HEAPSONDE_HOST_DUMP_WRITE_H
#define HEAPSONDE_HOST_DUMP_WRITE_H

#include "host/base/buffer.h"
#include "host/dump/view.h"

#include <stdio.h>

enum hs_dump_output {
    HS_DUMP_TO_HEAP_V2,
    HS_DUMP_TO_HEAP_PROFILE,
    HS_DUMP_TO_PPROF, // compressed
    HS_DUMP_TO_SYMBOLIZED
};
#define HS_DUMP_OUTPUT_CHOICES "pprof heap_v2 heap_profile symbolized"

// False when the word is none of HS_DUMP_OUTPUT_CHOICES.
bool hs_dump_output__parse(const char *word, enum hs_dump_output *output);

// Why the dump cannot be written so; NULL when it can.
const char *hs_dump__obstacle(const struct hs_dump *dump, enum hs_dump_output output);

// Returns 0 or -ENOMEM; errors of `out` stick to it.
int hs_dump__write(FILE *out, const struct hs_dump *dump, enum hs_dump_output output);

// Attributes of the source: names and values, one after another; NULL ends them.
struct hs_dump_source {
    const char *const *attributes;
    uint64_t time_ns, duration_ns; // since 1970, and how long the recording took
};

// The dump as an ExportProfilesServiceRequest of OpenTelemetry's protocol (OTLP, profiles/v1development as its
// collector 0.165 reads it): one profile for each kind of value. Returns 0 or -ENOMEM.
int hs_dump__write_otlp(struct hs_buffer *to, const struct hs_dump *dump, const struct hs_dump_source *source);

// Gives the locations that have no name the names that the first dump's symbols know, which have to outlive the dump.
// With `offsets`, what has none is called module+0xoffset. The dump is that of the view.
int hs_dump__add_names(struct hs_dump *dump, struct hs_dump_view *view, bool offsets);

// Leaves out what was not chosen.
int hs_dump__keep(struct hs_dump *dump, const struct hs_dump_view *view, const struct hs_dump_choice *choice);

// The stacks of a trace that was opened and added up, as a dump with names: in use is what is live at the end.
int hs_dump__of_trace(const struct hs_subject *subject, struct hs_dump **dump);

// ---- private: one file per format -----------------------------------------------------------------------------------

int hs_dump_write__pprof(FILE *out, const struct hs_dump *dump);

#endif
