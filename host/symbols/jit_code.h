// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Code of a trace that was made at run time: its names are read from the maps and dumps that the trace contains, and
// from those that the user gives, when the first address of such code is met. Not for use by two threads at once.
#ifndef HEAPSONDE_HOST_SYMBOLS_JIT_CODE_H
#define HEAPSONDE_HOST_SYMBOLS_JIT_CODE_H

#include "host/store/store.h"
#include "host/symbols/jit_names.h"
#include "host/symbols/symbols.h"

struct hs_jit_code {
    const struct hs_store *store;
    const struct hs_symbols_options *options;
    struct hs_jit_names names;
    uint64_t *first_use; // by node, in the time of the trace; HS_NEVER: unknown. NULL: not needed yet
    bool is_read;
};

void hs_jit_code__free(struct hs_jit_code *code);

// Whether a module is not a file but memory in which code may be made. NULL: no module.
bool hs_jit_code__may_be_in(const struct hs_module *module);

// The frames of a node in such memory, with this address; NULL: no name is known. `node`: of the store, 0: of none.
// *depends: other nodes with this address may have other frames.
const struct hs_frames *hs_jit_code__frames(struct hs_jit_code *code, struct hs_symbols *session, uint32_t node,
                                            uint64_t node_pc, bool *depends);

// What could not be read, in one line without an end. False: nothing, or no name was needed so far.
bool hs_jit_code__problem(const struct hs_jit_code *code, char *line, size_t size);

#endif
