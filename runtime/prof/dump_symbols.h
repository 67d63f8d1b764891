// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of the functions in the stacks of a snapshot, from the symbol tables of the modules' files. They are not
// demangled, and there are no inlined functions.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_SYMBOLS_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_SYMBOLS_H

#include "runtime/prof/dump_addresses.h"
#include "runtime/prof/dump_facts.h"

#include <stdint.h>

struct hs_dump_file; // a module's file while its names are used

struct hs_dump_symbols {
    struct hs_dump_facts *facts;
    struct hs_dump_addresses addresses; // the addresses of calls
    struct hs_dump_symbol {
        const char *name; // in the file; NULL: unknown
        uint64_t start, size;
    } * symbols;                // one per address
    struct hs_dump_file *files; // one per module
};

#pragma GCC visibility push(hidden)
// Looks up all names. Without memory or files, some are missing.
void hs_dump_symbols__find(struct hs_dump_symbols *symbols, struct hs_dump_facts *facts,
                           const struct hs_profile_snapshot *snapshot);
void hs_dump_symbols__free(struct hs_dump_symbols *symbols);

// Writes the name for the call at `address`: a function, else module+0xOFFSET, else the address.
void hs_dump_symbols__write(const struct hs_dump_symbols *symbols, struct hs_dump_output *output, uint64_t address);
#pragma GCC visibility pop

#endif
