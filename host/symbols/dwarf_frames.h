// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From an address to source frames, inlined ones included, by the DWARF of one module. Units are indexed once when the
// module is first asked, functions of a unit when that unit is first asked: nothing is read that is not shown.
#ifndef HEAPSONDE_HOST_SYMBOLS_DWARF_FRAMES_H
#define HEAPSONDE_HOST_SYMBOLS_DWARF_FRAMES_H

#include "host/symbols/package.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_DWARF_MOST_FRAMES 64

struct hs_dwarf;

// One frame, names owned by the Dwarf.
struct hs_dwarf_frame {
    const char *function;  // linker name where there is one; NULL when unknown
    const char *declared;  // file in which the function was declared; NULL when unknown
    bool from_table;       // the name is from a symbol table
    const char *directory; // that a relative file name counts from; NULL when unknown
    const char *file;
    uint32_t line;
};

struct hs_dwarf *hs_dwarf__create(Dwarf *dwarf);
void hs_dwarf__destroy(struct hs_dwarf *dwarf);

// Fills `frames` (HS_DWARF_MOST_FRAMES of them) innermost first and returns their number; 0 when nothing is known.
uint32_t hs_dwarf__frames(struct hs_dwarf *dwarf, uint64_t address, struct hs_dwarf_frame *frames);

// Whether units are split off into files (.dwo) that were not found, nor in a package that was added: functions and
// inlined calls are in these.
bool hs_dwarf__lacks_units(struct hs_dwarf *dwarf);

// Units that are lacking are taken from the package, which is then owned. False: none of them is in it, and it stays
// the caller's. After hs_dwarf__lacks_units().
bool hs_dwarf__add_package(struct hs_dwarf *dwarf, struct hs_package *package);

#endif
