// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_IMPORT_RUN_H
#define HEAPSONDE_IMPORT_RUN_H

#include "host/import/import.h"
#include "host/store/layout.h"

struct hs_resume;

// Writes the store of a trace into an empty directory. Returns 0 or a negative errno. -EOVERFLOW: more than 2^32 rows.
// `resume`: the state from which to continue, or NULL. -ESTALE: it cannot continue from there; the caller has to empty
// the directory.
int hs_import__run(const struct hs_trace *trace, const struct hs_import_options *options,
                   const struct hs_resume *resume, int directory_fd);

#endif
