// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A unit of a package, opened. libdw reads its entries; what they cover is read here, as libdw would look for it in the
// skeleton, which it can join with .dwo files only.
#ifndef HEAPSONDE_HOST_SYMBOLS_SPLIT_UNIT_H
#define HEAPSONDE_HOST_SYMBOLS_SPLIT_UNIT_H

#include "host/symbols/package.h"

#include <elfutils/libdw.h>

struct hs_split;

// What a unit needs of its skeleton and of the program's file. The bytes have to stay as long as the unit.
struct hs_skeleton {
    uint64_t id;
    uint64_t base;                     // that its ranges count from
    struct hs_package_bytes addresses; // from DW_AT_addr_base on
    struct hs_package_bytes ranges;    // of .debug_ranges, from DW_AT_GNU_ranges_base on
};

// NULL when the package does not hold the unit, or it cannot be read.
struct hs_split *hs_split__open(const struct hs_package *package, const struct hs_skeleton *skeleton);
void hs_split__close(struct hs_split *split);

// The unit's own entry.
Dwarf_Die *hs_split__die(struct hs_split *split);

// The ranges of an entry, one after the other: `walk` has to be zeroed before the first. False behind the last.
struct hs_range_walk {
    bool begun;
    struct hs_package_bytes rest;
    uint64_t base;
};
bool hs_split__next_range(struct hs_split *split, Dwarf_Die *die, struct hs_range_walk *walk, uint64_t *low,
                          uint64_t *high);

bool hs_split__covers(struct hs_split *split, Dwarf_Die *die, uint64_t address);

#endif
