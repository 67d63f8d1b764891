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
#include "host/symbols/module_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hs_symbols;

// In place of a module, of code that was made at run time.
#define HS_RUN_TIME_CODE "[jit]"

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

// Whether they are shown in the same way.
static inline bool hs_frame__looks_like(const struct hs_frame *a, const struct hs_frame *b)
{
    return a == b || (hs_frame__identity(a) == hs_frame__identity(b) && a->file == b->file && a->line == b->line);
}

struct hs_frames {
    const struct hs_frame *frame; // innermost first
    uint32_t count;               // at least 1
};

// NULL: out of memory.
struct hs_symbols *hs_symbols__create(const struct hs_symbols_options *options);
void hs_symbols__destroy(struct hs_symbols *symbols);

// Moves the open files of modules, with their unpacked debug information, to a session of the same trace and options
// that has not opened them. Modules are those of the same number. A file of which debug information is missing stays.
// `from` can then only be destroyed.
void hs_symbols__hand_over(struct hs_symbols *from, struct hs_symbols *to);

// Returns the module's number (from 0, in the order of the calls), or a negative errno.
int hs_symbols__add_module(struct hs_symbols *symbols, const struct hs_symbols_module *module);

// The frames of a return address in module `module`; -1: in no module. Valid as long as the session. NULL: out of
// memory.
const struct hs_frames *hs_symbols__resolve(struct hs_symbols *symbols, int module, uint64_t return_address);

// Frames with names from another source: the strings and roles of `frames` become those of the session. Names may be
// linker names. If `identity` equals `function`, the name alone identifies the function; if it is set and is another
// text, what is behind its first NUL does so with the name; otherwise the file or the module does.
// NULL: out of memory.
const struct hs_frames *hs_symbols__named(struct hs_symbols *symbols, const struct hs_frames *frames);

// The frame of an address in code that was made at run time, with the function's number. `frame` has the function, its
// file and line, and the return address; its strings are copied. NULL: out of memory.
const struct hs_frames *hs_symbols__add_made(struct hs_symbols *symbols, uint32_t function,
                                             const struct hs_frame *frame);
// The same if it was added before, else NULL.
const struct hs_frames *hs_symbols__known_made(struct hs_symbols *symbols, uint32_t function, uint64_t return_address);

// The difference between a return address and the address that is looked up for it. `machine`: ELF e_machine.
unsigned hs_call_length(uint16_t machine);

size_t hs_symbols__module_count(const struct hs_symbols *symbols);
uint64_t hs_symbols__bytes(const struct hs_symbols *symbols); // of debug information and names in memory, about
enum hs_symbols_state hs_symbols__state(const struct hs_symbols *symbols, size_t module);

// The state of a module's symbols. The strings are valid as long as the session.
struct hs_symbols_status {
    enum hs_symbols_state state;
    bool has_lines;    // debug information was found
    bool is_packed;    // it could not be unpacked
    bool lacks_memory; // there was none to read it, at least for some addresses
    bool lacks_units;  // a part is in .dwo files that were found neither as files nor in a .dwp file
    bool has_no_file;  // there cannot be one: the vdso, anonymous code
    const char *path;  // as in the trace
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

// Why names or lines are missing, for programs: "no_file", "other_build", "changed", "other_machine", "damaged",
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
