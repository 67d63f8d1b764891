// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The modules that the locations of dumps lie in. Those of later dumps are found again in the earlier ones and get
// their addresses there.
#ifndef HEAPSONDE_HOST_DUMP_MODULES_H
#define HEAPSONDE_HOST_DUMP_MODULES_H

#include "host/dump/dump.h"
#include "host/store/store.h"
#include "host/symbols/symbols.h"

struct hs_dump_modules {
    struct hs_module *module; // by start
    struct hs_symbols_module *described;
    size_t count;
    bool **rebuilt; // by dump and mapping: of two dumps, the other one has another build of this file
    // private
    uint64_t **shift; // by dump and mapping: address in `module` - offset in the file
    unsigned dump_count;
};

int hs_dump_modules__find(struct hs_dump_modules *modules, const struct hs_dump *const *dumps, unsigned dump_count);
void hs_dump_modules__free(struct hs_dump_modules *modules);

// The address of a location of dump `which` among the modules.
uint64_t hs_dump_modules__place(const struct hs_dump_modules *modules, unsigned which, const struct hs_dump *dump,
                                const struct hs_dump_location *location);
// Whether an address lies in one of them.
bool hs_dump_modules__holds(const struct hs_dump_modules *modules, uint64_t address);

#endif
