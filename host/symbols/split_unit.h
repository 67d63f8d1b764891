// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An open unit of a package. libdw reads its entries. Their address ranges are read here, as libdw would read them with
// the skeleton, which it can join only with .dwo files.
#ifndef HEAPSONDE_HOST_SYMBOLS_SPLIT_UNIT_H
#define HEAPSONDE_HOST_SYMBOLS_SPLIT_UNIT_H

#include "host/symbols/package.h"

#include <elfutils/libdw.h>

struct hs_split;

// What a unit needs from its skeleton and the program's file. The bytes must outlive the unit.
struct hs_skeleton {
    uint64_t id;
    uint64_t base;                     // base address of its ranges
    struct hs_package_bytes addresses; // from DW_AT_addr_base on
    struct hs_package_bytes ranges;    // of .debug_ranges, from DW_AT_GNU_ranges_base on
};

// NULL: the package does not contain the unit, or it cannot be read.
struct hs_split *hs_split__open(const struct hs_package *package, const struct hs_skeleton *skeleton);
void hs_split__close(struct hs_split *split);

// The entry of the unit itself.
Dwarf_Die *hs_split__die(struct hs_split *split);

// The ranges of an entry, one per call. `walk` has to be zeroed before the first call. False after the last one.
struct hs_range_walk {
    bool begun;
    struct hs_package_bytes rest;
    uint64_t base;
};
bool hs_split__next_range(struct hs_split *split, Dwarf_Die *die, struct hs_range_walk *walk, uint64_t *low,
                          uint64_t *high);

bool hs_split__covers(struct hs_split *split, Dwarf_Die *die, uint64_t address);

#endif
