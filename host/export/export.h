// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Export formats: a file each. A new one is that file (also in CMakeLists.txt) and an entry in HS_EXPORT_FORMATS, from
// which the command, the server, the help and the completions have it. CONTRIBUTING.md lists the rest.
#ifndef HEAPSONDE_HOST_EXPORT_EXPORT_H
#define HEAPSONDE_HOST_EXPORT_EXPORT_H

#include "host/report/report.h"

struct hs_export_options {
    enum hs_cost cost;
    bool blocks;                            // count blocks instead of bytes
    const struct hs_query_control *control; // of the questions that are asked meanwhile; may be NULL
};

struct hs_export_format {
    const char *name;
    const char *summary; // what it is and who reads it
    const char *media_type;
    const char *suffix;   // of a file's name
    bool whole;           // writes all costs: `cost` and `blocks` mean nothing to it
    bool of_blocks;       // says something of single blocks or of times, which only a trace knows
    unsigned events;      // bit per enum hs_events: what the subject's events may be
    unsigned row_bytes;   // about as much is written for each block or sample; 0: the file does not grow with them
    unsigned frame_bytes; // and for each frame of each stack; 0: what stacks have in common is written once
    // Returns 0 or a negative errno; errors of `out` stick to it. Memory does not grow with the number of rows.
    int (*write)(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);
};

// Sets of events.
#define HS_OF(events)   (1u << HS_EVENTS_##events)
#define HS_ANY_EVENTS   ((1u << HS_EVENTS_COUNT) - 1)
#define HS_HEAP_ALONE   HS_OF(HEAP)
#define HS_MEMORY_ALONE (HS_OF(HEAP) | HS_OF(TOUCHED) | HS_OF(TOUCHED_MAPPINGS))

// X(name, writer, summary, media type, suffix, whole, of_blocks, events, row_bytes, frame_bytes)
#define HS_EXPORT_FORMATS(X)                                                                                           \
    X(collapsed, hs_export__collapsed, "one line per stack, root;...;leaf value, for flamegraph.pl and others",        \
      "text/plain; charset=utf-8", ".collapsed", false, false, HS_ANY_EVENTS, 0, 20)                                   \
    X(flamegraph, hs_export__flamegraph, "an interactive picture in one SVG file, for any browser", "image/svg+xml",   \
      ".svg", false, false, HS_ANY_EVENTS, 0, 0)                                                                       \
    X(json, hs_export__json, "every stack with all its numbers and frames", "application/json", ".json", true, false,  \
      HS_ANY_EVENTS, 0, 5)                                                                                             \
    X(heaptrack, hs_export__heaptrack, "every allocation and free for heaptrack_gui and heaptrack_print",              \
      "application/octet-stream", ".heaptrack", true, true, HS_HEAP_ALONE, 12, 0)                                      \
    X(speedscope, hs_export__speedscope, "for speedscope, a profile for each cost", "application/json",                \
      ".speedscope.json", false, false, HS_ANY_EVENTS, 0, 16)                                                          \
    X(firefox, hs_export__firefox, "every allocation and free for the Firefox Profiler", "application/json",           \
      ".firefox.json", true, true, HS_ANY_EVENTS, 90, 0)                                                               \
    X(callgrind, hs_export__callgrind, "functions and their calls for KCachegrind and callgrind_annotate",             \
      "text/plain; charset=utf-8", ".callgrind", false, false, HS_ANY_EVENTS, 0, 0)                                    \
    X(dhat, hs_export__dhat, "call sites with lifetimes for valgrind's dh_view", "application/json", ".dhat.json",     \
      true, true, HS_HEAP_ALONE, 0, 5)                                                                                 \
    X(massif, hs_export__massif, "the heap over time for ms_print and massif-visualizer", "text/plain; charset=utf-8", \
      ".massif", true, true, HS_HEAP_ALONE, 0, 0)                                                                      \
    X(heapprofile, hs_export__heapprofile, "for the memory panel of Chrome's developer tools", "application/json",     \
      ".heapprofile", false, false, HS_MEMORY_ALONE, 0, 0)                                                             \
    X(jsonl, hs_export__json_lines, "a line of JSON for each stack and each block", "application/x-ndjson", ".jsonl",  \
      true, true, HS_ANY_EVENTS, 220, 50)                                                                              \
    X(csv, hs_export__csv, "a table of all blocks", "text/csv; charset=utf-8", ".csv", true, true, HS_ANY_EVENTS, 120, \
      0)                                                                                                               \
    X(parquet, hs_export__parquet, "the same table for databases", "application/vnd.apache.parquet", ".parquet", true, \
      true, HS_ANY_EVENTS, 12, 0)                                                                                      \
    X(perfetto, hs_export__perfetto, "for ui.perfetto.dev", "application/octet-stream", ".perfetto", true, false,      \
      HS_ANY_EVENTS, 0, 2)                                                                                             \
    X(replay, hs_export__replay, "every operation in binary, to be done again", "application/octet-stream", ".replay", \
      true, true, HS_HEAP_ALONE, 128, 0)

#define HS_EXPORT_CHOICE(name, ...)                   #name " "
#define HS_EXPORT_HELP_OF(name, writer, summary, ...) #name ": " summary "; "
#define HS_EXPORT_CHOICES                             HS_EXPORT_FORMATS(HS_EXPORT_CHOICE) // ends with a space
// Those of hs_export_formats__list_of_stacks(); end with a space.
#define HS_EXPORT_STACK_CHOICES HS_EXPORT_FORMATS(HS_EXPORT_CHOICE_OF_STACKS)
#define HS_EXPORT_CHOICE_OF_STACKS(name, writer, summary, media_type, suffix, whole, of_blocks, ...)                   \
    HS_EXPORT_CHOICE_##of_blocks(name)
#define HS_EXPORT_CHOICE_true(name)
#define HS_EXPORT_CHOICE_false(name)                                        #name " "
#define HS_EXPORT_HELP                                                      HS_EXPORT_FORMATS(HS_EXPORT_HELP_OF)
#define HS_EXPORT_SUFFIXES                                                  HS_EXPORT_FORMATS(HS_EXPORT_SUFFIX_OF) // ends with a space
#define HS_EXPORT_SUFFIX_OF(name, writer, summary, media_type, suffix, ...) suffix " "
extern const struct hs_export_format hs_export_formats[]; // a NULL name ends it
const struct hs_export_format *hs_export_format__find(const char *name);
// The one whose suffix is the longest that ends the path, or NULL.
const struct hs_export_format *hs_export_format__of_path(const char *path);

// Estimated bytes of an export: of `rows` blocks or samples without their stacks, and of stacks with `frames` frames.
uint64_t hs_export_format__bytes(const struct hs_export_format *format, uint64_t rows);
uint64_t hs_export_format__stack_bytes(const struct hs_export_format *format, uint64_t frames);

// The names of the formats that hold these events, with spaces between.
void hs_export_formats__list(enum hs_events events, char *text, size_t size);
// The same for those that contain sums of stacks and no single blocks.
void hs_export_formats__list_of_stacks(char *text, size_t size);

typedef int hs_export_writer(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);
#define HS_EXPORT_DECLARE(name, writer, ...) hs_export_writer writer;
HS_EXPORT_FORMATS(HS_EXPORT_DECLARE)
#undef HS_EXPORT_DECLARE

#endif
