// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts an address to source frames, including inlined ones, with the DWARF of one module. Units are indexed at the
// first query of the module, functions of a unit at the first query of that unit. So nothing is read that is not shown.
#ifndef HEAPSONDE_HOST_SYMBOLS_DWARF_FRAMES_H
#define HEAPSONDE_HOST_SYMBOLS_DWARF_FRAMES_H

#include "host/symbols/package.h"

#include "host/symbols/demangle.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_DWARF_MOST_FRAMES 64

struct hs_dwarf;

// One frame. The Dwarf owns the names.
struct hs_dwarf_frame {
    const char *function; // linker name, if there is one; NULL: unknown
    const char *declared; // file of the declaration; NULL: unknown
    enum hs_name_source source;
    const char *directory; // base of a relative file name; NULL: unknown
    const char *file;
    uint32_t line;
};

struct hs_dwarf *hs_dwarf__create(Dwarf *dwarf);
void hs_dwarf__destroy(struct hs_dwarf *dwarf);

// Fills `frames` (room for HS_DWARF_MOST_FRAMES), innermost first, and returns their number; 0: nothing is known.
uint32_t hs_dwarf__frames(struct hs_dwarf *dwarf, uint64_t address, struct hs_dwarf_frame *frames);

// Whether units are split into .dwo files that were found neither as files nor in a package. These contain the
// functions and inlined calls.
bool hs_dwarf__lacks_units(struct hs_dwarf *dwarf);

// Takes missing units from the package, and takes ownership of it. False: it contains none of them and remains the
// caller's. To be called after hs_dwarf__lacks_units().
bool hs_dwarf__add_package(struct hs_dwarf *dwarf, struct hs_package *package);

#endif
