// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of the functions in a snapshot's stacks, out of the symbol tables of the modules' files; not demangled, without
// inlined functions.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_SYMBOLS_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_SYMBOLS_H

#include "runtime/prof/dump_addresses.h"
#include "runtime/prof/dump_facts.h"

#include <stdint.h>

struct hs_dump_file; // a module's file while names in it are used

struct hs_dump_symbols {
    struct hs_dump_facts *facts;
    struct hs_dump_addresses addresses; // of the calls
    struct hs_dump_symbol {
        const char *name; // in the file; NULL: none is known
        uint64_t start, size;
    } * symbols;                // one for each address
    struct hs_dump_file *files; // one for each module
};

#pragma GCC visibility push(hidden)
// Looks all names up. Without memory or files there are fewer of them.
void hs_dump_symbols__find(struct hs_dump_symbols *symbols, struct hs_dump_facts *facts,
                           const struct hs_profile_snapshot *snapshot);
void hs_dump_symbols__free(struct hs_dump_symbols *symbols);

// Writes the name of what the call at `address` is in: a function, else module+0xOFFSET, else the address.
void hs_dump_symbols__write(const struct hs_dump_symbols *symbols, struct hs_dump_output *output, uint64_t address);
#pragma GCC visibility pop

#endif
