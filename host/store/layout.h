// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The files in a store directory. A store is a cache in the byte order of this machine. It is made again when its
// version or its trace has changed, and is not for exchange.
#ifndef HEAPSONDE_STORE_LAYOUT_H
#define HEAPSONDE_STORE_LAYOUT_H

#include "host/store/contents.h"

#define HS_STORE_MAGIC 0x31726f7453736848u

// X(field of struct hs_columns): each is one packed file with the name of the field.
#define HS_STORE_COLUMNS(X)                                                                                            \
    X(time)                                                                                                            \
    X(free_time)                                                                                                       \
    X(address)                                                                                                         \
    X(size)                                                                                                            \
    X(slack)                                                                                                           \
    X(stack)                                                                                                           \
    X(free_stack)                                                                                                      \
    X(stream)                                                                                                          \
    X(free_stream)                                                                                                     \
    X(detail)                                                                                                          \
    X(state)

// Identifies the trace of a store.
struct hs_store_key {
    uint64_t trace_id[2];
    uint64_t size;
    uint64_t modified_ns; // modification time of the file plus its recorded end time; changes if either does
};

#define HS_TIMELINE_LEVELS 8
#define HS_TIMELINE_POINTS 65536 // limit for level 0

// The file `head`, written last.
struct hs_store_head {
    uint64_t magic;
    uint32_t version;
    uint32_t head_size;
    struct hs_store_key key;
    uint64_t unwound_with; // identifies the files with which snapshots were unwound (host/import/snapshots.h); 0: no
                           // snapshots
    struct hs_summary summary;
    uint64_t rows;
    uint64_t timeline_interval; // of level 0
    uint64_t timeline_points[HS_TIMELINE_LEVELS];
};

// Texts in these tables are offsets into the file `strings`, which begins and ends with a NUL.
struct hs_stored_module {
    uint64_t start, end, bias, load_time, unload_time;
    uint32_t path, build_id;
    uint32_t build_id_length;
    uint32_t below;  // during import: an earlier module with the same start that is still loaded
    uint32_t layout; // hash of the program headers, if there is no build id; 0: unknown
    uint64_t inode;  // of the file, if there is no build id; 0: unknown
};

// Nodes from `first` up to the next entry's were recorded at `time`.
struct hs_stored_node_time {
    uint64_t time;
    uint32_t first, reserved;
};

struct hs_stored_thread {
    uint32_t stream, tid;
    uint64_t start_time;
    uint32_t name, reserved;
};

struct hs_stored_side_event {
    uint64_t time;
    uint32_t kind, stream, stack;
    int32_t result;
    int64_t value;
    int32_t parameter;
    uint32_t text;
};

struct hs_stored_info {
    uint32_t key, value;
};

struct hs_stored_embedded {
    uint32_t name, reserved;
    uint64_t length;
    uint64_t chunk_offset;
};

// By start.
struct hs_stored_function {
    uint64_t start, end;
    uint32_t first_line, kind;
    uint32_t function, file;
    uint32_t lines, lines_length; // bytes in `strings`
};

struct hs_clock_point {
    uint64_t time; // recorded time during import, ns in the store
    uint64_t monotonic_ns, realtime_ns;
};

#endif
