// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The files of a trace's modules as unwinding needs them: with code, and beside it the file with debug information.
#ifndef HEAPSONDE_IMPORT_SNAPSHOT_FILES_H
#define HEAPSONDE_IMPORT_SNAPSHOT_FILES_H

#include "host/store/layout.h"
#include "host/symbols/symbols.h"

struct hs_trace;

struct hs_snapshot_files {
    struct hs_symbols_options options; // with what the trace says of the machine
    const struct hs_trace *trace;      // which may embed files; NULL: they are not looked at
    const struct hs_stored_embedded *embedded;
    size_t embedded_count;
    const char *strings; // of `embedded`
};

// `symbols` may be NULL. Embedded files are the caller's to add.
void hs_snapshot_files__create(struct hs_snapshot_files *files, const struct hs_symbols_options *symbols,
                               const struct hs_summary *summary);

// Descriptors of the caller's; -1: not found.
void hs_snapshot_files__find(const struct hs_snapshot_files *files, const struct hs_symbols_module *module, int *code,
                             int *debug);

// A number for which files are found for these modules, in any order, without those in the trace. Never 0.
uint64_t hs_snapshot_files__identity(const struct hs_snapshot_files *files, const struct hs_symbols_module *modules,
                                     size_t count);

#endif
