// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Heap dumps: what a sampling heap profiler writes (jemalloc, gperftools, Go, the sampling shim), in memory, whatever
// format it came in. A dump holds contexts: a stack and the counts of what was allocated there.
//
// Counts stay as they were read; hs_dump__estimate says how much memory a context stands for. Addresses are those of
// the calls: readers have taken back what a format adds to them (in heap_v2 all frames but the innermost are return
// addresses), so an address is looked up as it is.
#ifndef HEAPSONDE_HOST_DUMP_DUMP_H
#define HEAPSONDE_HOST_DUMP_DUMP_H

#include "host/base/error.h"
#include "host/query/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HS_DUMP_NONE UINT32_MAX

// Which instant to read of a file that has several.
#define HS_DUMP_USUAL ((uint64_t)0) // massif: the largest heap; DHAT: the end
#define HS_DUMP_FIRST ((uint64_t)1)

// What collapsed stacks begin with that 'heapsonde baseline' writes. No stack need follow.
#define HS_DUMP_BASELINE_HEAD "# heapsonde baseline:"

enum hs_dump_format {
    HS_DUMP_HEAP_V2,      // jemalloc: "heap_v2/PERIOD", counts for each thread
    HS_DUMP_HEAP_PROFILE, // gperftools: "heap profile: ...", one line per context
    HS_DUMP_PPROF,        // profile.proto, usually compressed
    HS_DUMP_COLLAPSED,    // "outermost;...;innermost COUNT"
    HS_DUMP_MASSIF,       // Valgrind's massif.out: snapshots, some with a tree
    HS_DUMP_DHAT,         // Valgrind's dhat.out: JSON, at the heap's peak and at the end
    HS_DUMP_TRACE         // not read: made by hs_dump__of_trace
};

// What the counts are.
enum hs_dump_sampling {
    HS_SAMPLING_NONE,   // all that was allocated, or an estimate of it
    HS_SAMPLING_POISSON // of samples: a byte is sampled with probability 1/period, its block then counts
};

struct hs_dump_counts {
    uint64_t live_blocks, live_bytes; // in use when the dump was written
    uint64_t all_blocks, all_bytes;   // allocated since the start; 0 unless the profiler kept them (prof_accum)
};

static inline void hs_dump_counts__add(struct hs_dump_counts *to, const struct hs_dump_counts *counts)
{
    to->live_blocks += counts->live_blocks;
    to->live_bytes += counts->live_bytes;
    to->all_blocks += counts->all_blocks;
    to->all_bytes += counts->all_bytes;
}

struct hs_dump_estimate {
    double live_blocks, live_bytes, all_blocks, all_bytes;
};

// A name that the dump has for an address. Locations may have several: inlined calls, innermost first.
struct hs_dump_line {
    const char *function; // "" when unknown
    const char *file;     // NULL when unknown
    uint32_t line;        // 0 when unknown
};

struct hs_dump_location {
    uint64_t address;
    bool has_address;
    uint32_t mapping; // HS_DUMP_NONE: in none
    uint32_t first_line, line_count;
};

// hs_dump__walk reads its frames.
struct hs_dump_context {
    uint32_t first, depth; // frames[first]: the innermost; where the dump has callers: it is location `first`
    struct hs_dump_counts counts;
};

struct hs_dump_thread {
    uint64_t uid;     // as the dump numbers it
    const char *name; // "" when unknown
    struct hs_dump_counts counts;
};

// The counts of one thread in a context; by context.
struct hs_dump_share {
    uint32_t context, thread;
    struct hs_dump_counts counts;
};

// A part of a file in memory; by start.
struct hs_dump_mapping {
    uint64_t start, end;
    uint64_t offset; // in the file
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_length;
    bool executable;
};

// A line "# key: value".
struct hs_dump_fact {
    const char *key, *value;
};

struct hs_dump {
    const char *name; // of the file
    enum hs_dump_format format;
    enum hs_dump_sampling sampling;
    uint64_t period;               // bytes between samples on average, or what a sample stands for; 0: unknown
    bool has_all;                  // the counts of all allocations are there
    bool has_blocks;               // the numbers of blocks are there
    bool lacks_live;               // what is in use is not there; then has_all
    enum hs_events events;         // what is counted, of a trace
    uint64_t time_ns, duration_ns; // of a trace: since 1970, and how long it took
    uint64_t part;                 // of a file with several instants: which one this is; 0: it has but one
    uint64_t next_part;            // the instant after it; 0: none
    uint64_t elapsed_ns;           // of a part: since the start; instructions and bytes count as ns
    const char *clock;             // what elapsed_ns counts, as "instructions"; NULL: time
    bool is_peak;                  // of a part: the file calls it the peak
    bool has_total;                // the next are the totals in the dump itself
    struct hs_dump_counts total;
    const char *executable; // path, "" when unknown
    struct hs_dump_context *context;
    size_t context_count;
    uint32_t *frames; // numbers of locations
    size_t frame_count;
    struct hs_dump_location *location;
    size_t location_count;
    // In place of frames, where a location is one of a tree of stacks: by location the one that called it, HS_DUMP_NONE
    // of the outermost.
    uint32_t *caller;
    struct hs_dump_line *line;
    size_t line_count;
    struct hs_dump_thread *thread;
    size_t thread_count;
    struct hs_dump_share *share;
    size_t share_count;
    struct hs_dump_mapping *mapping;
    size_t mapping_count;
    struct hs_dump_fact *fact;
    size_t fact_count;
    const char **warning; // what is missing or strange, for the user
    size_t warning_count;
    const char *text; // heap_v2: the dump without a symbol table in front of it, as it was read; else NULL
    size_t text_length;
    // private
    struct hs_strings *strings;
    void *bytes;
    size_t byte_count;
    bool mapped;
    bool is_cut; // the compressed file, of which `bytes` is what could be unpacked
};

// Whether the file's first bytes look like a dump of any of the formats. A file that cannot be read does not.
bool hs_dump__recognise(const char *path);
// Whether it looks like a file that has several instants.
bool hs_dump__recognise_parts(const char *path);

// Reads a dump. Returns 0, or a negative errno with a message that names the file and, in text formats, the line. A
// file that ends too early gives what is complete and a warning.
int hs_dump__open(const char *path, struct hs_dump **dump, struct hs_error *error);

// The same from memory, which has to stay until the dump is closed. Compressed contents are unpacked to at most
// `largest` bytes.
int hs_dump__parse(const char *name, const void *bytes, size_t length, size_t largest, struct hs_dump **dump,
                   struct hs_error *error);
// Another instant of the file that `of` was opened from: the first one at or behind `part`.
int hs_dump__open_part(const struct hs_dump *of, uint64_t part, struct hs_dump **dump, struct hs_error *error);
void hs_dump__close(struct hs_dump *dump);

// Along the locations of a context, innermost first.
struct hs_dump_walk {
    const struct hs_dump *dump;
    uint32_t at, end; // frames; where the dump has callers: `at` is the next location
};

static inline struct hs_dump_walk hs_dump__walk(const struct hs_dump *dump, const struct hs_dump_context *context)
{
    return (struct hs_dump_walk){dump, context->first, context->first + context->depth};
}

// False: there are no more.
static inline bool hs_dump_walk__next(struct hs_dump_walk *walk, uint32_t *location)
{
    const struct hs_dump *dump = walk->dump;
    if (walk->at == (dump->caller ? HS_DUMP_NONE : walk->end))
        return false;
    *location = dump->caller ? walk->at : dump->frames[walk->at];
    walk->at = dump->caller ? dump->caller[walk->at] : walk->at + 1;
    return true;
}

// How much memory these counts of the dump stand for: each pair divided by the probability with which blocks of its
// average size are sampled.
struct hs_dump_estimate hs_dump__estimate(const struct hs_dump *dump, const struct hs_dump_counts *counts);

void hs_dump_estimate__add(struct hs_dump_estimate *to, struct hs_dump_estimate from);
// The sum of the estimates of all contexts.
struct hs_dump_estimate hs_dump__sum(const struct hs_dump *dump);

// The value of a fact, NULL when the dump has none of that key.
const char *hs_dump__fact(const struct hs_dump *dump, const char *key);

// Whether it names functions, but not the files of their libraries.
bool hs_dump__lacks_libraries(const struct hs_dump *dump);

const char *hs_dump_format_name(enum hs_dump_format format); // "heap_v2", "heap profile", ...

// The offset of an address in its file; without a mapping, the address itself.
uint64_t hs_dump__offset(const struct hs_dump *dump, const struct hs_dump_location *location);

#endif
