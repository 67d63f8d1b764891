// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Meta records (trace_format.h, docs/format.md): a writer for the target half and a bounded reader.
#ifndef HEAPSONDE_FORMAT_META_H
#define HEAPSONDE_FORMAT_META_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- writing -------------------------------------------------------------------------------------------------------

// Writes into [at, end). A record that does not fit is not written at all and `false` is returned; the writer stays
// usable. A tag byte is written last, so that a killed process leaves only whole records; `at` always stands on a
// zero byte when the memory was zeroed before.
struct hs_meta_writer {
    uint8_t *at, *end;
    uint32_t next_node; // id of the next NODE; 0: none written yet
    uint64_t last_pc;
};

void hs_meta_begin(struct hs_meta_writer *writer, void *memory, size_t length);
// Writes NODE_BASE too when `id` does not follow the previous node.
bool hs_meta_node(struct hs_meta_writer *writer, uint32_t id, uint32_t parent, uint64_t pc);
bool hs_meta_module(struct hs_meta_writer *writer, uint64_t time, uint64_t start, uint64_t end, uint64_t bias,
                    const void *build_id, size_t build_id_length, const char *path, size_t path_length);
// Of the module that was written last. `inode`: of its file; 0: unknown.
bool hs_meta_layout(struct hs_meta_writer *writer, uint32_t hash, uint64_t inode);
bool hs_meta_unload(struct hs_meta_writer *writer, uint64_t time, uint64_t start);
bool hs_meta_thread(struct hs_meta_writer *writer, uint32_t stream, uint32_t tid, uint64_t time, const char *name,
                    size_t name_length);
bool hs_meta_clock(struct hs_meta_writer *writer, uint64_t time, uint64_t monotonic_ns, uint64_t realtime_ns);
bool hs_meta_info(struct hs_meta_writer *writer, const char *key, size_t key_length, const char *value,
                  size_t value_length);
bool hs_meta_culled(struct hs_meta_writer *writer, uint32_t stack, uint64_t count, uint64_t size, uint64_t usable,
                    uint64_t lifetime);
bool hs_meta_toggle(struct hs_meta_writer *writer, uint64_t time, bool on);
bool hs_meta_mark(struct hs_meta_writer *writer, uint64_t time, uint32_t stream, uint64_t value, const char *text,
                  size_t text_length);
// `words`: the part after number and time, made by the caller.
bool hs_meta_snapshot(struct hs_meta_writer *writer, uint32_t number, uint64_t time, const void *words, size_t length);

struct hs_bytes {
    const uint8_t *data; // not terminated
    size_t length;
};

// A function that an interpreter runs (docs/format.md, 5.3).
struct hs_meta_code {
    uint64_t start, end;
    uint32_t first_line;
    uint8_t kind;
    struct hs_bytes function, file, lines;
};
bool hs_meta_code(struct hs_meta_writer *writer, const struct hs_meta_code *code);

// ---- reading -------------------------------------------------------------------------------------------------------

// One record. Which fields are set depends on the tag, named as in trace_format.h.
struct hs_meta_record {
    uint8_t tag;     // enum hs_meta
    uint32_t id;     // NODE; CULLED: the stack; SNAPSHOT: its number
    uint32_t parent; // NODE
    uint64_t pc;     // NODE
    uint64_t time;   // MODULE, UNLOAD, THREAD, CLOCK, TOGGLE, MARK, SNAPSHOT
    uint64_t start, end, bias;
    uint32_t stream, tid;
    uint64_t monotonic_ns, realtime_ns;
    uint64_t count, size, usable, lifetime;
    uint64_t value; // MARK, TOGGLE, LAYOUT
    uint64_t inode; // LAYOUT; 0: unknown
    struct hs_meta_code code;
    struct hs_bytes build_id;
    struct hs_bytes text; // path, name, value of INFO, text of MARK, words of SNAPSHOT
    struct hs_bytes key;  // INFO
};

struct hs_meta_reader {
    const uint8_t *at, *end;
    uint32_t next_node;
    uint64_t last_pc;
};

void hs_meta_open(struct hs_meta_reader *reader, const void *data, size_t length);
// Returns 1 with the next record of a known tag, 0 at the end, -1 at an invalid record.
int hs_meta_next(struct hs_meta_reader *reader, struct hs_meta_record *record);

// Most records are nodes in succession: reads up to `max` of them at once and returns how many; their numbers count up
// from *first. hs_meta_next reads the next record, even if it is a node.
struct hs_meta_node {
    uint64_t pc;
    uint32_t parent;
};
size_t hs_meta_nodes(struct hs_meta_reader *reader, uint32_t *first, struct hs_meta_node *nodes, size_t max);

#endif
