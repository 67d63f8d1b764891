// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the recording library shows to a loader that puts it into a running process without the help of libc
// (host/inject). The library exports one table of this kind under the name `heapsonde_attach`.
//
// The loader relocates the library, fills `real`, `info` and `heap_info`, sets *resolved, and has a thread call
// `begin`. Then `thread_self_at` tells which of the thread-local variables is the pointer to a thread's record. Program
// threads need another place for it: a word that their libc reserves and does not use.
#ifndef HEAPSONDE_FORMAT_ATTACH_H
#define HEAPSONDE_FORMAT_ATTACH_H

#include <stdint.h>

#define HS_ATTACH_SYMBOL "heapsonde_attach"
#define HS_ATTACH_MAGIC  0x3268636174746168u // "hattach2"

enum { HS_ATTACH_RESOLVED = 2, HS_ATTACH_INFO = 64 };

// Pointers are those of the library's machine.
struct hs_attach_table {
    uint64_t magic;
    uintptr_t *real;         // functions of the program, in the order of `names`
    const char *names;       // each ends with a zero; an empty one ends the list
    uint32_t *resolved;      // set it to HS_ATTACH_RESOLVED if `real` is filled
    void (*begin)(void);     // starts recording
    void (*end)(void);       // ends the trace, the writer's thread and the recording
    uint32_t **mode;         // a word that is 0 if nothing is recorded
    char *info;              // HS_ATTACH_INFO bytes: value of the trace's info "attached"
    uintptr_t heap_info;     // set it to the allocator's function mallinfo2; 0: it has none
    uintptr_t number_at;     // offset of the owner's tid (32 bits) in a thread's record
    intptr_t thread_self_at; // from the thread pointer to the variable, in the thread that called `begin`
};

#endif
