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
#include <string.h>

struct hs_symbols;

struct hs_symbols_options {
    const char *const *sysroots; // copies of the recorded machine's files, looked into in order
    size_t sysroot_count;
    const char *const *debug_dirs; // looked into for debug information and for the files themselves
    size_t debug_dir_count;
    const char *const *source_maps; // FROM=TO: see host/symbols/source_map.h
    size_t source_map_count;
    // Of the trace; 0: any. Without a system root, files of this machine are taken for a trace of another kind of
    // machine by their build id only.
    uint16_t machine;     // ELF e_machine
    uint8_t pointer_size; // 4 or 8
    uint8_t byte_order;   // HS_BYTE_ORDER_* of format/trace_format.h
};

// A module as the trace has it. The strings must outlive the session.
struct hs_symbols_module {
    uint64_t start;
    uint64_t end;  // past the last page that was mapped from the file; 0: not known
    uint64_t bias; // run-time address - address in the file
    // When only the process's maps are known, bias is the run-time address of the file's first byte. The file then says
    // at which address its offset `mapped_offset` was linked, and the bias is put right.
    bool bias_of_bytes;
    uint64_t mapped_offset; // of some of its code, in the file
    const char *path;
    const uint8_t *build_id;
    size_t build_id_length;
    uint32_t layout;      // without a build id: the hash of its program headers; 0: not known
    uint64_t recorded_ns; // without a build id: since 1970, when it was loaded; 0: not known
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
    const char *linked;   // the name as the symbol table or the debug information has it; NULL when not named
    const char *file;     // NULL when unknown
    uint32_t line;        // 0 when unknown
    bool inlined;         // part of the next frame's function
    enum hs_frame_kind kind;
    enum hs_frame_role role;
    const char *module; // path; "" when in no module
    // What a function is known by, by its address: the name, NUL, and the file in which the function was declared or,
    // when that is not known, its module. NULL: the name alone.
    const char *identity;
    uint64_t address; // the return address, on ARM without the bit that says Thumb
};

// Equal for frames of one function, and for no others.
static inline const char *hs_frame__identity(const struct hs_frame *frame)
{
    return frame->identity ? frame->identity : frame->function;
}

// The file in which the function was declared or, when that is not known, its module; NULL: neither is.
static inline const char *hs_frame__declared(const struct hs_frame *frame)
{
    const char *identity = hs_frame__identity(frame);
    return identity == frame->function ? NULL : identity + strlen(frame->function) + 1;
}

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

// Frames whose names come from elsewhere than a file: `frames` with their strings and roles made those of the session.
// Names may be linker names. Where `identity` is `function` they are known by that alone; otherwise it need not be set.
// NULL when memory is exhausted.
const struct hs_frames *hs_symbols__named(struct hs_symbols *symbols, const struct hs_frames *frames);

// How far a return address lies behind what is looked up for it. `machine`: ELF e_machine.
unsigned hs_call_length(uint16_t machine);

size_t hs_symbols__module_count(const struct hs_symbols *symbols);
enum hs_symbols_state hs_symbols__state(const struct hs_symbols *symbols, size_t module);

// What is known about a module's symbols. Strings live as long as the session.
struct hs_symbols_status {
    enum hs_symbols_state state;
    bool has_lines;   // debug information was found
    bool is_packed;   // what was found could not be unpacked
    bool lacks_units; // a part of it is in .dwo files that are not here, nor in a .dwp file
    bool has_no_file; // nowhere: the vdso, anonymous code
    const char *path; // as the trace has it
    const uint8_t *build_id;
    size_t build_id_length;
    const char *file;       // that was taken, or that speaks against itself; NULL: none
    const char *debug_file; // with the debug information, when it was found in another file; else NULL
    const char *debug_link; // what the file calls its debug information; NULL: it does not say
};

// Looks for the module's file and debug information when that was not done yet.
void hs_symbols__status(struct hs_symbols *symbols, size_t module, struct hs_symbols_status *status);

// Whether the trace is of another kind of machine and no copy of its files was given.
bool hs_symbols__needs_sysroot(const struct hs_symbols *symbols);

// Why names or lines are missing, for programs: "no_file", "other_build", "other_machine", "damaged",
// "no_debug_information". NULL when nothing is missing that could be found.
const char *hs_symbols_reason(const struct hs_symbols_status *status);

// The files that would mend it, each by the name that it has to have.
enum hs_wanted {
    HS_WANTED_BY_PATH,     // below a system root
    HS_WANTED_BY_LINK,     // beside the file
    HS_WANTED_BY_BUILD_ID, // below a debug directory
    HS_WANTED_COUNT
};
bool hs_symbols__wanted(const struct hs_symbols_status *status, enum hs_wanted kind, char *path, size_t size);

// The same for people: what is wrong and which files are wanted, below the folders that the session looks into. False
// when nothing is wrong.
bool hs_symbols__explain(const struct hs_symbols *symbols, const struct hs_symbols_status *status, char *why,
                         size_t why_size, char *wanted, size_t wanted_size);

// Both in one line, for modules without any file. False also for those that nothing was asked of.
bool hs_symbols__problem(struct hs_symbols *symbols, size_t module, char *line, size_t size);

#endif
