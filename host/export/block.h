// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One block, or one sample, as the formats with a line or a row for each of them have it, and its columns as a table.
#ifndef HEAPSONDE_HOST_EXPORT_BLOCK_H
#define HEAPSONDE_HOST_EXPORT_BLOCK_H

#include "host/report/report.h"

struct hs_export_block {
    uint64_t time, free_time; // HS_NEVER: still there
    uint64_t lifetime;        // until the end where it was not freed
    uint64_t address, size, usable, touched;
    uint64_t weight; // of a sample: ns or page faults
    uint32_t tid;
    const char *thread; // its name, "" when unknown
    const char *kind;   // malloc, calloc, ...
    bool temporary;
    uint32_t stack;
    const struct hs_frame *site; // the innermost frame that is not an allocator's; of a sample: the innermost
};

// Calls `visit` for everything that the subject's events and its filter ask for, in the order of time. A value other
// than 0 stops and is returned.
typedef int (*hs_export_block_visitor)(void *context, const struct hs_export_block *block);
int hs_export_blocks__each(const struct hs_subject *subject, const struct hs_query_control *control,
                           hs_export_block_visitor visit, void *context);

// ---- columns -------------------------------------------------------------------------------------------------------

enum hs_export_column_type {
    HS_COLUMN_OF_NUMBER,       // 64 bits
    HS_COLUMN_OF_NUMBER_OR_NO, // the same; HS_NEVER: there is none
    HS_COLUMN_OF_ADDRESS,      // 64 bits
    HS_COLUMN_OF_SMALL_NUMBER, // 32 bits
    HS_COLUMN_OF_BOOLEAN,
    HS_COLUMN_OF_TEXT
};

#define HS_COLUMNS_OF_BLOCKS  (1u << HS_EVENTS_HEAP | HS_COLUMNS_OF_TOUCHED)
#define HS_COLUMNS_OF_TOUCHED (1u << HS_EVENTS_TOUCHED | 1u << HS_EVENTS_TOUCHED_MAPPINGS)
#define HS_COLUMNS_OF_CPU     (1u << HS_EVENTS_CPU)
#define HS_COLUMNS_OF_OFF_CPU (1u << HS_EVENTS_OFF_CPU)
#define HS_COLUMNS_OF_FAULTS  (1u << HS_EVENTS_FAULTS)
#define HS_COLUMNS_OF_ALL     ((1u << HS_EVENTS_COUNT) - 1)

// X(identifier, name, type, events that have it)
#define HS_BLOCK_COLUMNS(X)                                                                                            \
    X(TIME, "time_ns", NUMBER, HS_COLUMNS_OF_ALL)                                                                      \
    X(FREE_TIME, "free_time_ns", NUMBER_OR_NO, HS_COLUMNS_OF_BLOCKS)                                                   \
    X(LIFETIME, "lifetime_ns", NUMBER, HS_COLUMNS_OF_BLOCKS)                                                           \
    X(ADDRESS, "address", ADDRESS, HS_COLUMNS_OF_BLOCKS | HS_COLUMNS_OF_FAULTS)                                        \
    X(SIZE, "size", NUMBER, HS_COLUMNS_OF_BLOCKS)                                                                      \
    X(USABLE, "usable_size", NUMBER, HS_COLUMNS_OF_BLOCKS)                                                             \
    X(TOUCHED, "touched_size", NUMBER, HS_COLUMNS_OF_TOUCHED)                                                          \
    X(CPU, "cpu_ns", NUMBER, HS_COLUMNS_OF_CPU)                                                                        \
    X(OFF_CPU, "off_cpu_ns", NUMBER, HS_COLUMNS_OF_OFF_CPU)                                                            \
    X(FAULTS, "faults", NUMBER, HS_COLUMNS_OF_FAULTS)                                                                  \
    X(KIND, "kind", TEXT, HS_COLUMNS_OF_BLOCKS)                                                                        \
    X(TEMPORARY, "temporary", BOOLEAN, HS_COLUMNS_OF_BLOCKS)                                                           \
    X(THREAD, "thread", SMALL_NUMBER, HS_COLUMNS_OF_ALL)                                                               \
    X(THREAD_NAME, "thread_name", TEXT, HS_COLUMNS_OF_ALL)                                                             \
    X(STACK, "stack", SMALL_NUMBER, HS_COLUMNS_OF_ALL)                                                                 \
    X(FUNCTION, "function", TEXT, HS_COLUMNS_OF_ALL)                                                                   \
    X(FILE, "file", TEXT, HS_COLUMNS_OF_ALL)                                                                           \
    X(LINE, "line", SMALL_NUMBER, HS_COLUMNS_OF_ALL)                                                                   \
    X(MODULE, "module", TEXT, HS_COLUMNS_OF_ALL)

enum hs_export_column {
#define HS_COLUMN_ID(id, ...) HS_COLUMN_##id,
    HS_BLOCK_COLUMNS(HS_COLUMN_ID)
#undef HS_COLUMN_ID
        HS_COLUMN_COUNT
};

struct hs_export_column_kind {
    const char *name;
    enum hs_export_column_type type;
    unsigned events; // bit per enum hs_events
};
extern const struct hs_export_column_kind hs_columns_of_blocks[HS_COLUMN_COUNT];

static inline bool hs_export_column__is_of(enum hs_export_column column, enum hs_events events)
{
    return hs_columns_of_blocks[column].events >> events & 1;
}
uint64_t hs_export_block__number(const struct hs_export_block *block, enum hs_export_column column); // of all but texts
const char *hs_export_block__text(const struct hs_export_block *block,
                                  enum hs_export_column column); // of texts; never NULL

#endif
