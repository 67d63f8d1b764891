// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filling a dump: what the readers of the formats share. All functions return 0 (or what they say) or -ENOMEM.
#ifndef HEAPSONDE_HOST_DUMP_BUILDER_H
#define HEAPSONDE_HOST_DUMP_BUILDER_H

#include "host/base/id_map.h"
#include "host/dump/dump.h"

#include <stdarg.h>

struct hs_dump_builder {
    struct hs_dump *dump;
    size_t context_room, frame_room, location_room, line_room, thread_room, share_room, mapping_room, fact_room,
        warning_room;
    struct hs_id_map by_address; // locations
    struct hs_id_map by_name;    // locations without an address, by the address of their interned name
    struct hs_id_map by_path;    // mappings without addresses, by the address of their interned path
    struct hs_id_map by_uid;     // threads
    uint64_t negative;           // counts below 0, which were taken for 0
};

void hs_dump_builder__start(struct hs_dump_builder *builder, struct hs_dump *dump);
// Sorts the mappings, finds those of the locations and their build ids, and checks the sums. To be called at the end.
int hs_dump_builder__finish(struct hs_dump_builder *builder);
void hs_dump_builder__free(struct hs_dump_builder *builder);

// The location of an address or of a name, made when there is none; HS_DUMP_NONE: out of memory.
uint32_t hs_dump_builder__at(struct hs_dump_builder *builder, uint64_t address);
uint32_t hs_dump_builder__named(struct hs_dump_builder *builder, const char *name, size_t length);
// A location of its own.
uint32_t hs_dump_builder__add_location(struct hs_dump_builder *builder, const struct hs_dump_location *location);
// Adds a name to a location; innermost first. Names that come after those of another location are left out.
int hs_dump_builder__add_line(struct hs_dump_builder *builder, uint32_t location, const struct hs_dump_line *line);

// Adds a frame to the current context, innermost first, and ends that context.
int hs_dump_builder__add_frame(struct hs_dump_builder *builder, uint32_t location);
int hs_dump_builder__end_context(struct hs_dump_builder *builder, const struct hs_dump_counts *counts);
// A context of a dump with callers.
int hs_dump_builder__add_context(struct hs_dump_builder *builder, uint32_t innermost,
                                 const struct hs_dump_counts *counts);
// Leaves the frames of the current context out.
void hs_dump_builder__drop_frames(struct hs_dump_builder *builder);

// The thread with that uid, made when there is none; HS_DUMP_NONE: out of memory.
uint32_t hs_dump_builder__thread(struct hs_dump_builder *builder, uint64_t uid);
int hs_dump_builder__add_share(struct hs_dump_builder *builder, const struct hs_dump_share *share);
int hs_dump_builder__add_mapping(struct hs_dump_builder *builder, const struct hs_dump_mapping *mapping);
int hs_dump_builder__add_fact(struct hs_dump_builder *builder, const char *key, size_t key_length, const char *value,
                              size_t value_length);
__attribute__((format(printf, 2, 3))) int hs_dump_builder__warn(struct hs_dump_builder *builder, const char *format,
                                                                ...);
const char *hs_dump_builder__string(struct hs_dump_builder *builder, const char *text, size_t length);

// Bytes of a text of hexadecimal digits, kept with the dump; NULL: none, or out of memory.
const uint8_t *hs_dump_builder__build_id(struct hs_dump_builder *builder, const char *text, size_t length,
                                         uint32_t *bytes);

#endif
