// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From return addresses to what a person reads: function, file and line, inlined frames included.
//
// Symbols are kept apart from the trace and are looked up only for the addresses that are shown: a module's file is
// found and opened when its first address is asked for, and every answer is kept for the session. A file on disk is
// used only when its build id is the one in the trace; otherwise its addresses stay `module+0xoffset` and the module
// is reported by hs_symbols__problem. One session belongs to one thread at a time (libdw is not thread-safe).
#ifndef HEAPSONDE_HOST_SYMBOLS_SYMBOLS_H
#define HEAPSONDE_HOST_SYMBOLS_SYMBOLS_H

#include "host/symbols/frame_role.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_symbols;

struct hs_symbols_options {
    const char *sysroot;           // put before every path of the trace; NULL: none
    const char *const *debug_dirs; // looked into for debug information and for the files themselves
    size_t debug_dir_count;
    uint16_t machine; // ELF e_machine of the trace; 0: any
};

// A module as the trace has it. The strings must outlive the session.
struct hs_symbols_module {
    uint64_t start;
    uint64_t bias; // run-time address - address in the file
    const char *path;
    const uint8_t *build_id;
    size_t build_id_length;
    // A copy of the file, when the trace embeds it: gives a descriptor that the session closes, or a negative errno.
    // Tried after the files on disk. May be NULL.
    int (*open_copy)(void *context);
    void *context;
};

enum hs_frame_kind {
    HS_FRAME_NAMED,  // the function is known
    HS_FRAME_OFFSET, // only the module is: `function` reads module+0xoffset
    HS_FRAME_ADDRESS // in no module: `function` reads 0xaddress
};

struct hs_frame {
    const char *function; // never NULL; equal names are equal pointers
    const char *file;     // NULL when unknown
    uint32_t line;        // 0 when unknown
    bool inlined;         // part of the next frame's function
    enum hs_frame_kind kind;
    enum hs_frame_role role;
    const char *module; // path; "" when in no module
    uint64_t address;   // the return address
};

struct hs_frames {
    const struct hs_frame *frame; // innermost first
    uint32_t count;               // at least 1
};

// What is wrong with a module's symbols.
enum hs_symbols_state {
    HS_SYMBOLS_UNUSED,   // nothing was asked of it
    HS_SYMBOLS_FOUND,    //
    HS_SYMBOLS_MISSING,  // no file
    HS_SYMBOLS_MISMATCH, // files, but none with this build id
    HS_SYMBOLS_FOREIGN,  // a file for another machine
    HS_SYMBOLS_DAMAGED   // a file that cannot be read
};

// NULL when memory is exhausted.
struct hs_symbols *hs_symbols__create(const struct hs_symbols_options *options);
void hs_symbols__destroy(struct hs_symbols *symbols);

// Returns the module's number (from 0, in order of the calls), or a negative errno.
int hs_symbols__add_module(struct hs_symbols *symbols, const struct hs_symbols_module *module);

// The frames of a return address in module `module`; -1: in no module. NULL when memory is exhausted.
// Valid as long as the session.
const struct hs_frames *hs_symbols__resolve(struct hs_symbols *symbols, int module, uint64_t return_address);

size_t hs_symbols__module_count(const struct hs_symbols *symbols);
enum hs_symbols_state hs_symbols__state(const struct hs_symbols *symbols, size_t module);
const char *hs_symbols__path(const struct hs_symbols *symbols, size_t module);

// A line for the user about a module whose addresses cannot be named: what is wrong and what to do. False when nothing
// is wrong with it.
bool hs_symbols__problem(const struct hs_symbols *symbols, size_t module, char *line, size_t size);

#endif
