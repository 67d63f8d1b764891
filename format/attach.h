// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The interface of the recording library for a loader that puts it into a running process without the help of libc
// (host/inject). The library exports one table of this kind under the name `heapsonde_attach`.
//
// The loader relocates the library, fills `real`, `info`, `heap_info`, `is_glibcs` and `thread_word`, sets *resolved
// and *trusted, and has a thread call `begin`. Then `thread_self_at` tells which of the thread-local variables is the
// pointer to a thread's record. Program threads need another place for it: a word that their libc reserves and does not
// use. The other thread-local variables are only read in program threads: what is not zero there has to be in libc's
// number of the thread.
#ifndef HEAPSONDE_FORMAT_ATTACH_H
#define HEAPSONDE_FORMAT_ATTACH_H

#include <stdint.h>

#define HS_ATTACH_SYMBOL "heapsonde_attach"
#define HS_ATTACH_MAGIC  0x3568636174746168u // "hattach5"

enum { HS_ATTACH_RESOLVED = 2, HS_ATTACH_INFO = 64, HS_ATTACH_NAMES = 256, HS_ATTACH_NONE = 0xff };

// What a function of an allocator does.
enum hs_attach_what {
    HS_ATTACH_GIVES,    // returns a block
    HS_ATTACH_STORES,   // stores a block where argument `block` points, and returns 0
    HS_ATTACH_TAKES,    // frees
    HS_ATTACH_MOVES,    // returns the block in place of the old one; NULL: nothing changed, or the size was 0
    HS_ATTACH_REPLACES, // the same, but frees the old one also if it fails
    HS_ATTACH_RESIZES,  // changes the block where it is, and returns its size
};

// A function of an allocator that the library does not know by name. The loader makes its first instruction jump to
// code that puts the address of such a record into the register that the architecture names (arch/.../hook_entry.h)
// and jumps to `adopted` of the table.
struct hs_attach_function {
    uint64_t original; // does what the function did before
    uint64_t usable;   // malloc_usable_size of the same allocator; 0: it has none
    // Of a function that throws: one with the same arguments that returns NULL. Exceptions do not pass the library.
    uint64_t silent;
    uint8_t what;               // enum hs_attach_what
    uint8_t kind;               // HS_RECORD_MALLOC, _CALLOC or _ALIGNED
    uint8_t size, count, block; // numbers of arguments; HS_ATTACH_NONE: there is none
    uint8_t reserved[3];
};

// Pointers are those of the library's machine.
struct hs_attach_table {
    uint64_t magic;
    uintptr_t *real;         // functions of the program, in the order of `names`
    const char *names;       // each ends with a zero; an empty one ends the list
    uint32_t *resolved;      // set it to HS_ATTACH_RESOLVED if `real` is filled
    uint8_t *trusted;        // set it to 1: the settings are not those of the program's caller
    void (*begin)(void);     // starts recording
    void (*end)(void);       // ends the trace, the writer's thread and the recording
    uint32_t **mode;         // a word that is 0 if nothing is recorded
    char *info;              // HS_ATTACH_INFO bytes: value of the trace's info "attached"
    uintptr_t heap_info;     // set it to the allocator's function mallinfo2; 0: it has none
    uintptr_t number_at;     // offset of the owner's tid (32 bits) in a thread's record
    void (*adopted)(void);   // functions of further allocators jump to it; NULL: not on this machine
    char *adopted_names;     // HS_ATTACH_NAMES bytes: value of the trace's info "allocators"
    intptr_t thread_self_at; // from the thread pointer to the variable, in the thread that called `begin`
    intptr_t thread_word;    // the same for its place afterwards
    uintptr_t no_record;     // what the variable is in a thread that has no record: an address, or 0
    uint32_t is_glibcs;      // set it to 1 if the allocator is the one of glibc
};

#endif
