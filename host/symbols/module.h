// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One module of a session: its file, its DWARF and its symbol table. Each is opened when it is first needed.
#ifndef HEAPSONDE_HOST_SYMBOLS_MODULE_H
#define HEAPSONDE_HOST_SYMBOLS_MODULE_H

#include "host/symbols/dwarf_frames.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/module_search.h"
#include "host/symbols/symbol_table.h"

struct hs_module_symbols {
    struct hs_symbols_module description; // with the build id of the file if the trace has none
    const struct hs_symbols_options *options;
    enum hs_symbols_state state;
    struct hs_probe probe; // of the file, if the trace has no build id
    char *file;            // see hs_located.path
    char *debug_file;      // another file with the debug information, if one was found; else NULL
    bool packed;           // a part of the debug information could not be unpacked
    char *link;            // the name of the file with debug information, from the link in this file; NULL: none
    Dwfl *dwfl;
    Dwfl_Module *module;
    char *debug_path; // the search path given to libdwfl
    Dwfl_Callbacks callbacks;
    struct hs_dwarf *dwarf;
    Dwarf_Addr dwarf_bias;
    bool dwarf_tried;
    bool lacks_memory; // of some addresses the debug information was not read
    uint64_t bytes;    // what it takes, about
    Dwarf *supplement;
    int supplement_fd;
    struct hs_symbol_table table;
    bool table_tried;
};

// Finds the file, once.
void hs_module_symbols__open(struct hs_module_symbols *self);
void hs_module_symbols__close(struct hs_module_symbols *self);

// Makes an open module one of the session of `other`, which describes the same module and was not opened. False: it is
// another build, or lies elsewhere.
bool hs_module_symbols__take_description(struct hs_module_symbols *self, const struct hs_module_symbols *other);

// Whether there is debug information. Searches it at the first call.
bool hs_module_symbols__has_lines(struct hs_module_symbols *self);

// Whether a part of it is in files that were not found.
bool hs_module_symbols__lacks_units(struct hs_module_symbols *self);

// The frames at an address in the file (not in the process), as in hs_dwarf__frames. Names are linker names.
uint32_t hs_module_symbols__frames(struct hs_module_symbols *self, uint64_t address, struct hs_dwarf_frame *frames);

#endif
