// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts return addresses to function, file and line, including inlined frames.
//
// Symbols are not part of the trace and are looked up only for the addresses that are shown. A module's file is
// searched and opened at its first address; every result is kept for the session. A file is used only if its build id
// is that of the trace; otherwise the addresses are shown as `module+0xoffset`, and hs_symbols__problem reports the
// module. A session must not be used by two threads at once (libdw is not thread-safe).
#ifndef HEAPSONDE_HOST_SYMBOLS_SYMBOLS_H
#define HEAPSONDE_HOST_SYMBOLS_SYMBOLS_H

#include "host/symbols/frame_role.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hs_symbols;

struct hs_symbols_options {
    const char *const *sysroots; // copies of the recorded machine's files, searched in this order
    size_t sysroot_count;
    const char *const *debug_dirs; // searched for debug information and for the files themselves
    size_t debug_dir_count;
    const char *const *source_maps; // FROM=TO: see host/symbols/source_map.h
    size_t source_map_count;
    // From the trace; 0: any. If the trace is of another kind of machine and there is no system root, files of this
    // machine are used only if their build id matches.
    uint16_t machine;     // ELF e_machine
    uint8_t pointer_size; // 4 or 8
    uint8_t byte_order;   // HS_BYTE_ORDER_* of format/trace_format.h
};

// A module as in the trace. The strings must outlive the session.
struct hs_symbols_module {
    uint64_t start;
    uint64_t end;  // end of the last page that was mapped from the file; 0: unknown
    uint64_t bias; // run-time address minus address in the file
    // If only the process's mappings are known, `bias` is the run-time address of the file's first byte. The file then
    // tells at which address its offset `mapped_offset` was linked, and the bias is corrected.
    bool bias_of_bytes;
    uint64_t mapped_offset; // offset in the file of a part of its code
    const char *path;
    const uint8_t *build_id;
    size_t build_id_length;
    uint32_t layout;      // without a build id: hash of the program headers; 0: unknown
    uint64_t recorded_ns; // without a build id: when it was loaded, since 1970; 0: unknown
    // If the trace embeds a copy of the file: returns a descriptor, which the session closes, or a negative errno. Used
    // after the files on disk. May be NULL.
    int (*open_copy)(void *context);
    void *context;
};

enum hs_frame_kind {
    HS_FRAME_NAMED,  // the function is known
    HS_FRAME_OFFSET, // only the module is known: `function` is module+0xoffset
    HS_FRAME_ADDRESS // in no module: `function` is 0xaddress
};

struct hs_frame {
    const char *function; // never NULL; equal names have equal pointers
    const char *linked;   // the linker name from the symbol table or the debug information; NULL: not named
    const char *file;     // NULL: unknown
    uint32_t line;        // 0: unknown
    bool inlined;         // inlined into the function of the next frame
    enum hs_frame_kind kind;
    enum hs_frame_role role;
    const char *module; // path; "" when in no module
    // The identity of the function, as a pointer into a pool: its name, NUL, and the file of its declaration or, if
    // that is unknown, its module. NULL: the name alone.
    const char *identity;
    uint64_t address; // the return address; on ARM without the Thumb bit
};

// Equal for frames of the same function only.
static inline const char *hs_frame__identity(const struct hs_frame *frame)
{
    return frame->identity ? frame->identity : frame->function;
}

// The file of the function's declaration or, if that is unknown, its module; NULL: both are unknown.
static inline const char *hs_frame__declared(const struct hs_frame *frame)
{
    const char *identity = hs_frame__identity(frame);
    return identity == frame->function ? NULL : identity + strlen(frame->function) + 1;
}

struct hs_frames {
    const struct hs_frame *frame; // innermost first
    uint32_t count;               // at least 1
};

// The state of a module's symbols.
enum hs_symbols_state {
    HS_SYMBOLS_UNUSED,   // not searched yet
    HS_SYMBOLS_FOUND,    //
    HS_SYMBOLS_MISSING,  // no file
    HS_SYMBOLS_MISMATCH, // files, but none with this build id
    HS_SYMBOLS_FOREIGN,  // a file for another machine
    HS_SYMBOLS_DAMAGED   // a file that cannot be read
};

// NULL: out of memory.
struct hs_symbols *hs_symbols__create(const struct hs_symbols_options *options);
void hs_symbols__destroy(struct hs_symbols *symbols);

// Returns the module's number (from 0, in the order of the calls), or a negative errno.
int hs_symbols__add_module(struct hs_symbols *symbols, const struct hs_symbols_module *module);

// The frames of a return address in module `module`; -1: in no module. Valid as long as the session. NULL: out of
// memory.
const struct hs_frames *hs_symbols__resolve(struct hs_symbols *symbols, int module, uint64_t return_address);

// Frames with names from another source: the strings and roles of `frames` become those of the session. Names may be
// linker names. If `identity` equals `function`, the name alone identifies the function; otherwise it need not be set.
// NULL: out of memory.
const struct hs_frames *hs_symbols__named(struct hs_symbols *symbols, const struct hs_frames *frames);

// The difference between a return address and the address that is looked up for it. `machine`: ELF e_machine.
unsigned hs_call_length(uint16_t machine);

size_t hs_symbols__module_count(const struct hs_symbols *symbols);
enum hs_symbols_state hs_symbols__state(const struct hs_symbols *symbols, size_t module);

// The state of a module's symbols. The strings are valid as long as the session.
struct hs_symbols_status {
    enum hs_symbols_state state;
    bool has_lines;   // debug information was found
    bool is_packed;   // it could not be unpacked
    bool lacks_units; // a part is in .dwo files that were found neither as files nor in a .dwp file
    bool has_no_file; // there cannot be one: the vdso, anonymous code
    const char *path; // as in the trace
    const uint8_t *build_id;
    size_t build_id_length;
    const char *file;       // the file that is used, or one that was rejected; NULL: none
    const char *debug_file; // another file with the debug information, if one was found; else NULL
    const char
        *debug_link; // the name of the file with debug information, from the link in the module's file; NULL: no link
};

// Searches the module's file and debug information if that was not done yet.
void hs_symbols__status(struct hs_symbols *symbols, size_t module, struct hs_symbols_status *status);

// Whether the trace is of another kind of machine and no system root was given.
bool hs_symbols__needs_sysroot(const struct hs_symbols *symbols);

// Why names or lines are missing, for programs: "no_file", "other_build", "other_machine", "damaged",
// "no_debug_information". NULL: nothing is missing, or it cannot be found.
const char *hs_symbols_reason(const struct hs_symbols_status *status);

// The files that would provide the missing symbols, each with the name that it needs to have.
enum hs_wanted {
    HS_WANTED_BY_PATH,     // below a system root
    HS_WANTED_BY_LINK,     // beside the file
    HS_WANTED_BY_BUILD_ID, // below a debug directory
    HS_WANTED_COUNT
};
bool hs_symbols__wanted(const struct hs_symbols_status *status, enum hs_wanted kind, char *path, size_t size);

// The same for people: the problem, and the wanted files below the folders that the session searches. False: no
// problem.
bool hs_symbols__explain(const struct hs_symbols *symbols, const struct hs_symbols_status *status, char *why,
                         size_t why_size, char *wanted, size_t wanted_size);

// Both in one line, for modules without any file. False also for modules of which nothing was requested.
bool hs_symbols__problem(struct hs_symbols *symbols, size_t module, char *line, size_t size);

#endif
