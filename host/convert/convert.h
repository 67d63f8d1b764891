// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Other tools' recordings, made into traces. Their files are hostile input: what makes no sense is an error that says
// where, or is left out and counted.
#ifndef HEAPSONDE_HOST_CONVERT_CONVERT_H
#define HEAPSONDE_HOST_CONVERT_CONVERT_H

#include "host/base/error.h"
#include "host/convert/trace_file.h"
#include "host/import/import.h"

enum hs_foreign {
    HS_FOREIGN_NONE,
    HS_FOREIGN_HEAPTRACK, // as heaptrack or heaptrack_interpret write it, compressed or not
    HS_FOREIGN_RECORDER   // of the recorder whose environment variables ours takes, too
};

// Recognises a file by its beginning. A file that cannot be read is of no known kind.
enum hs_foreign hs_foreign__recognise(const char *path);
const char *hs_foreign__name(enum hs_foreign kind);

// Reads the file at `path` and writes a trace to `out`, which is seekable. Returns 0, or a negative errno with a
// message. A file that ends too early gives what is there. Of the options, only `cancel` and `progress` are used; NULL:
// none.
int hs_foreign__convert(const char *path, enum hs_foreign kind, const struct hs_import_options *options, FILE *out,
                        struct hs_error *error);

// Opens a trace (host/import/import.h), or another tool's recording: that is made into a trace, which goes when the
// store is closed. A recording always gives the same trace id.
int hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                     struct hs_error *error);

// ---- private: one file per format -----------------------------------------------------------------------------------

int hs_convert__heaptrack(const char *path, FILE *in, FILE *out, struct hs_error *error);
int hs_convert__recorder(const char *path, FILE *in, FILE *out, struct hs_error *error);
bool hs_convert__is_recorder(FILE *in);

#endif
