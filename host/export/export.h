// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Export formats: a file each. A new one is that file and an entry in HS_EXPORT_FORMATS.
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
    const char *suffix; // of a file's name
    bool whole;         // writes all costs: `cost` and `blocks` mean nothing to it
    bool of_blocks;     // says something of single blocks or of times, which only a trace knows
    // Returns 0 or a negative errno; errors of `out` stick to it. Memory does not grow with the number of rows.
    int (*write)(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);
};

// X(name, writer, summary, media type, suffix, whole, of_blocks)
#define HS_EXPORT_FORMATS(X)                                                                                           \
    X(collapsed, hs_export__collapsed, "one line per stack, root;...;leaf value, for flamegraph.pl and others",        \
      "text/plain; charset=utf-8", ".collapsed", false, false)                                                         \
    X(flamegraph, hs_export__flamegraph, "an interactive picture in one SVG file, for any browser", "image/svg+xml",   \
      ".svg", false, false)                                                                                            \
    X(json, hs_export__json, "every stack with all its numbers and frames", "application/json", ".json", true, false)  \
    X(heaptrack, hs_export__heaptrack, "every allocation and free for heaptrack_gui and heaptrack_print",              \
      "application/octet-stream", ".heaptrack", true, true)                                                            \
    X(speedscope, hs_export__speedscope, "for speedscope, a profile for each cost", "application/json",                \
      ".speedscope.json", false, false)                                                                                \
    X(firefox, hs_export__firefox, "every allocation and free for the Firefox Profiler", "application/json",           \
      ".firefox.json", true, true)                                                                                     \
    X(dhat, hs_export__dhat, "call sites with lifetimes for valgrind's dh_view", "application/json", ".dhat.json",     \
      true, true)                                                                                                      \
    X(massif, hs_export__massif, "the heap over time for ms_print and massif-visualizer", "text/plain; charset=utf-8", \
      ".massif", true, true)                                                                                           \
    X(heapprofile, hs_export__heapprofile, "for the memory panel of Chrome's developer tools", "application/json",     \
      ".heapprofile", false, false)                                                                                    \
    X(jsonl, hs_export__json_lines, "a line of JSON for each stack and each block", "application/x-ndjson", ".jsonl",  \
      true, true)                                                                                                      \
    X(csv, hs_export__csv, "a table of all blocks", "text/csv; charset=utf-8", ".csv", true, true)                     \
    X(parquet, hs_export__parquet, "the same table for databases", "application/vnd.apache.parquet", ".parquet", true, \
      true)                                                                                                            \
    X(perfetto, hs_export__perfetto, "for ui.perfetto.dev", "application/octet-stream", ".perfetto", true, false)      \
    X(replay, hs_export__replay, "every operation in binary, to be done again", "application/octet-stream", ".replay", \
      true, true)

#define HS_EXPORT_CHOICE(name, ...)                   #name " "
#define HS_EXPORT_HELP_OF(name, writer, summary, ...) #name ": " summary "; "
#define HS_EXPORT_CHOICES                             HS_EXPORT_FORMATS(HS_EXPORT_CHOICE) // ends with a space
#define HS_EXPORT_HELP                                HS_EXPORT_FORMATS(HS_EXPORT_HELP_OF)
extern const struct hs_export_format hs_export_formats[]; // a NULL name ends it
const struct hs_export_format *hs_export_format__find(const char *name);

typedef int hs_export_writer(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options);
#define HS_EXPORT_DECLARE(name, writer, ...) hs_export_writer writer;
HS_EXPORT_FORMATS(HS_EXPORT_DECLARE)
#undef HS_EXPORT_DECLARE

#endif
