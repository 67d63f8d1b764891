// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The files of a trace's modules for unwinding: the file with the code, and the file with debug information.
#ifndef HEAPSONDE_IMPORT_SNAPSHOT_FILES_H
#define HEAPSONDE_IMPORT_SNAPSHOT_FILES_H

#include "host/store/layout.h"
#include "host/symbols/symbols.h"

struct hs_trace;

struct hs_snapshot_files {
    struct hs_symbols_options options; // with what the trace contains about the machine
    const struct hs_trace *trace;      // for embedded files; NULL: do not use them
    const struct hs_stored_embedded *embedded;
    size_t embedded_count;
    const char *strings; // of `embedded`
};

// `symbols` may be NULL. The caller adds embedded files.
void hs_snapshot_files__create(struct hs_snapshot_files *files, const struct hs_symbols_options *symbols,
                               const struct hs_summary *summary);

// The caller closes the descriptors; -1: not found.
void hs_snapshot_files__find(const struct hs_snapshot_files *files, const struct hs_symbols_module *module, int *code,
                             int *debug);

// A number that identifies the files that are found for these modules, in any order, without embedded ones. Never 0.
uint64_t hs_snapshot_files__identity(const struct hs_snapshot_files *files, const struct hs_symbols_module *modules,
                                     size_t count);

#endif
