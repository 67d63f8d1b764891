// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a dump contains besides samples: the memory map, its modules with their build ids, and program, host and time.
// Collected once per dump, in memory of its own.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_FACTS_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_FACTS_H

#include "runtime/image.h"
#include "runtime/prof/dump_output.h"
#include "runtime/prof/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Mappings of one file that form a module; at least one is executable.
struct hs_dump_module {
    struct hs_mapped mapped;
    const char *path; // as in the map, not NUL-terminated
    size_t path_length;
    struct hs_image image;
};

enum { HS_DUMP_FRAMES_LIMIT = 16384, HS_DUMP_COMMAND_LIMIT = 4096 };

struct hs_dump_facts {
    const char *trigger; // "manual"
    uint32_t number;     // of the dump among those with this trigger
    bool numbered;
    uint32_t pid;
    uint64_t monotonic_ns, resident_bytes;
    char *map; // /proc/self/maps, NUL-terminated; NULL: could not be read
    uint64_t map_length, map_memory;
    struct hs_dump_module *modules; // by address
    uint32_t module_count;
    uint64_t module_memory;
    char host[65];
    char executable[HS_PROF_PATH];
    char command[HS_DUMP_COMMAND_LIMIT];    // words separated by spaces; truncated
    char line[HS_PROF_PATH + 256];          // scratch
    uintptr_t frames[HS_DUMP_FRAMES_LIMIT]; // room for one stack; pages are touched only as far as they are used
};

#pragma GCC visibility push(hidden)
// Of a library that was put into a running process: how old it was then (nanoseconds), and which allocators are
// sampled; else empty.
extern char hs_dump_facts__attached[], hs_dump_facts__allocators[];
extern _Atomic uintptr_t hs_dump_facts__older; // bytes that the allocator held then; 0: not known

void hs_dump_facts__gather(struct hs_dump_facts *facts);
void hs_dump_facts__free(struct hs_dump_facts *facts);

// The next line of the map. *at has to be 0 for the first. False: no more lines.
bool hs_dump_facts__next_mapping(const struct hs_dump_facts *facts, uint64_t *at, struct hs_maps_line *mapping);

// The module that contains an address, or NULL.
const struct hs_dump_module *hs_dump_facts__module_of(const struct hs_dump_facts *facts, uint64_t address);

// Stores the frames of a stack in facts->frames: at least 1, at most prof_bt_max.
uint32_t hs_dump_facts__frames(struct hs_dump_facts *facts, uint32_t stack);

// Calls `say` with each fact: "key: value".
void hs_dump_facts__each_line(struct hs_dump_facts *facts, const struct hs_profile_snapshot *snapshot,
                              void (*say)(const char *text, void *data), void *data);

// Writes all facts, and the modules with their build ids, as lines that begin with "# ".
void hs_dump_facts__write_comments(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);

// Writes "
// MAPPED_LIBRARIES:
// " and the map; nothing if the map could not be read.
void hs_dump_facts__write_map(struct hs_dump_output *output);
#pragma GCC visibility pop

#endif
