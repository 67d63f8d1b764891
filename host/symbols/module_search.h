// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The search for a module's file: where to look, what is known of the module, and what was found.
#ifndef HEAPSONDE_HOST_SYMBOLS_MODULE_SEARCH_H
#define HEAPSONDE_HOST_SYMBOLS_MODULE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_symbols_options {
    const char *const *sysroots; // copies of the recorded machine's files, searched in this order
    size_t sysroot_count;
    const char *const *debug_dirs; // searched for debug information and for the files themselves
    size_t debug_dir_count;
    const char *const *source_maps; // FROM=TO: see host/symbols/source_map.h
    size_t source_map_count;
    const char *const *perf_maps; // names of code that was made at run time: see host/symbols/jit_names.h
    size_t perf_map_count;
    // From the trace; 0: any. If the trace is of another kind of machine or there is a system root, files of this
    // machine are used only if their build id matches or, where none was recorded, their program headers.
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
    uint64_t inode;       // without a build id: of the file; 0: unknown
    uint64_t recorded_ns; // without a build id: when it was loaded at the latest, since 1970; 0: unknown
    // If the trace embeds a copy of the file: returns a descriptor, which the session closes, or a negative errno. Used
    // after the files on disk. May be NULL.
    int (*open_copy)(void *context);
    void *context;
};

// The state of a module's symbols.
enum hs_symbols_state {
    HS_SYMBOLS_UNUSED,   // not searched yet
    HS_SYMBOLS_FOUND,    //
    HS_SYMBOLS_MISSING,  // no file
    HS_SYMBOLS_MISMATCH, // files, but none with this build id
    HS_SYMBOLS_CHANGED,  // without a build id: a file like the recorded one, but it was changed since
    HS_SYMBOLS_FOREIGN,  // a file for another machine
    HS_SYMBOLS_DAMAGED   // a file that cannot be read
};

struct hs_located {
    enum hs_symbols_state state;
    int fd;     // of the file if it was found, else -1; the caller closes it
    char *path; // the file that was found, else one that was rejected; NULL: none. The caller frees it
};

#endif
