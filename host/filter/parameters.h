// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The parameters of the filter language, in one table. The parser, the options of the command line, the manual page,
// the completion, the OpenAPI file and the check of docs/filters.md are made from it.
#ifndef HEAPSONDE_FILTER_PARAMETERS_H
#define HEAPSONDE_FILTER_PARAMETERS_H

#include <stdbool.h>

// What a value looks like.
enum hs_parameter_kind {
    HS_PARAMETER_TIME,     // a time point
    HS_PARAMETER_TIME_END, // a time point; a whole number reaches to the end of its second or millisecond
    HS_PARAMETER_INTERVAL,
    HS_PARAMETER_INTERVAL_OR_PERCENT,
    HS_PARAMETER_COUNT_OR_PERCENT,
    HS_PARAMETER_SIZE,
    HS_PARAMETER_ADDRESS,
    HS_PARAMETER_NUMBER,    // 32 bits
    HS_PARAMETER_NUMBER_64, // 64 bits
    HS_PARAMETER_CHOICE,
    HS_PARAMETER_REGEX,
    HS_PARAMETER_TEXT,
    HS_PARAMETER_EXPRESSION,
    HS_PARAMETER_KIND_COUNT
};

#define HS_LIFETIME_CHOICES                                                                                            \
    "all only_leaked only_chain_leaked only_temporary only_whole_group_leaked "                                        \
    "only_not_deallocated_in_current_range only_deallocated_in_current_range"

// X(identifier, name, name of the option, its letter, kind, what the value is called, words that it takes, repeatable,
// help)
#define HS_FILTER_PARAMETERS(X)                                                                                        \
    X(FROM, "from", "from", 0, TIME, "TIME", 0, false, "only blocks that were allocated at this time or later")        \
    X(TO, "to", "to", 0, TIME_END, "TIME", 0, false, "only blocks that were allocated at this time or earlier")        \
    X(LIFETIME, "lifetime", "lifetime", 0, CHOICE, "WHICH", HS_LIFETIME_CHOICES, false,                                \
      "only blocks that ended like this")                                                                              \
    X(ADDRESS_MIN, "address_min", "address-min", 0, ADDRESS, "ADDRESS", 0, false,                                      \
      "only blocks at this address or above")                                                                          \
    X(ADDRESS_MAX, "address_max", "address-max", 0, ADDRESS, "ADDRESS", 0, false,                                      \
      "only blocks at this address or below")                                                                          \
    X(SIZE_MIN, "size_min", "size-min", 0, SIZE, "SIZE", 0, false, "only blocks of at least this size")                \
    X(SIZE_MAX, "size_max", "size-max", 0, SIZE, "SIZE", 0, false, "only blocks of at most this size")                 \
    X(FIRST_SIZE_MIN, "first_size_min", "first-size-min", 0, SIZE, "SIZE", 0, false,                                   \
      "only realloc chains whose first block has at least this size")                                                  \
    X(FIRST_SIZE_MAX, "first_size_max", "first-size-max", 0, SIZE, "SIZE", 0, false,                                   \
      "only realloc chains whose first block has at most this size")                                                   \
    X(LAST_SIZE_MIN, "last_size_min", "last-size-min", 0, SIZE, "SIZE", 0, false,                                      \
      "only realloc chains whose last block has at least this size")                                                   \
    X(LAST_SIZE_MAX, "last_size_max", "last-size-max", 0, SIZE, "SIZE", 0, false,                                      \
      "only realloc chains whose last block has at most this size")                                                    \
    X(LIFETIME_MIN, "lifetime_min", "lifetime-min", 0, INTERVAL, "INTERVAL", 0, false,                                 \
      "only blocks that lived at least this long")                                                                     \
    X(LIFETIME_MAX, "lifetime_max", "lifetime-max", 0, INTERVAL, "INTERVAL", 0, false,                                 \
      "only blocks that lived at most this long")                                                                      \
    X(BACKTRACE_DEPTH_MIN, "backtrace_depth_min", "backtrace-depth-min", 0, NUMBER, "N", 0, false,                     \
      "only stacks of at least this many frames, including inlined ones")                                              \
    X(BACKTRACE_DEPTH_MAX, "backtrace_depth_max", "backtrace-depth-max", 0, NUMBER, "N", 0, false,                     \
      "only stacks of at most this many frames, including inlined ones")                                               \
    X(BACKTRACES, "backtraces", "backtraces", 0, NUMBER, "ID", 0, false, "only the stack with this number")            \
    X(DEALLOCATION_BACKTRACES, "deallocation_backtraces", "deallocation-backtraces", 0, NUMBER, "ID", 0, false,        \
      "only blocks that were freed by the stack with this number")                                                     \
    X(MMAPED, "mmaped", "mmaped", 0, CHOICE, "YES|NO", "yes no", false,                                                \
      "only blocks to which glibc gave a mapping of their own, or only others")                                        \
    X(ARENA, "arena", "arena", 0, CHOICE, "WHICH", "main non_main", false, "only blocks of these arenas of glibc")     \
    X(JEMALLOC, "jemalloc", "jemalloc", 0, CHOICE, "YES|NO", "yes no", false,                                          \
      "only blocks that jemalloc allocated, or only others")                                                           \
    X(FUNCTION_REGEX, "function_regex", "function-regex", 0, REGEX, "REGEX", 0, false,                                 \
      "only stacks with a function whose name matches this Perl regular expression")                                   \
    X(SOURCE_REGEX, "source_regex", "source-regex", 0, REGEX, "REGEX", 0, false,                                       \
      "only stacks with a function whose source file matches")                                                         \
    X(NEGATIVE_FUNCTION_REGEX, "negative_function_regex", "negative-function-regex", 0, REGEX, "REGEX", 0, false,      \
      "only stacks without any function whose name matches")                                                           \
    X(NEGATIVE_SOURCE_REGEX, "negative_source_regex", "negative-source-regex", 0, REGEX, "REGEX", 0, false,            \
      "only stacks without any function whose source file matches")                                                    \
    X(LIBRARY, "library", "library", 0, TEXT, "NAME", 0, true,                                                         \
      "only stacks with a frame in this library or program; * and ? are wildcards")                                    \
    X(NEGATIVE_LIBRARY, "negative_library", "negative-library", 0, TEXT, "NAME", 0, true,                              \
      "only stacks without any frame in this library or program")                                                      \
    X(THREAD, "thread", "thread", 't', TEXT, "NAME|TID", 0, true, "only blocks that this thread allocated")            \
    X(MARKER, "marker", "marker", 0, NUMBER, "N", 0, false,                                                            \
      "only blocks that were allocated while this marker was set")                                                     \
    X(GROUP_INTERVAL_MIN, "group_interval_min", "group-interval-min", 0, INTERVAL_OR_PERCENT, "INTERVAL", 0, false,    \
      "only stacks with at least this much time between their first and their last allocation")                        \
    X(GROUP_INTERVAL_MAX, "group_interval_max", "group-interval-max", 0, INTERVAL_OR_PERCENT, "INTERVAL", 0, false,    \
      "only stacks with at most this much time between their first and their last allocation")                         \
    X(GROUP_ALLOCATIONS_MIN, "group_allocations_min", "group-allocations-min", 0, NUMBER, "N", 0, false,               \
      "only stacks with at least this many allocations")                                                               \
    X(GROUP_ALLOCATIONS_MAX, "group_allocations_max", "group-allocations-max", 0, NUMBER, "N", 0, false,               \
      "only stacks with at most this many allocations")                                                                \
    X(GROUP_LEAKED_ALLOCATIONS_MIN, "group_leaked_allocations_min", "group-leaked-allocations-min", 0,                 \
      COUNT_OR_PERCENT, "N|N%", 0, false, "only stacks with at least this many allocations that were never freed")     \
    X(GROUP_LEAKED_ALLOCATIONS_MAX, "group_leaked_allocations_max", "group-leaked-allocations-max", 0,                 \
      COUNT_OR_PERCENT, "N|N%", 0, false, "only stacks with at most this many allocations that were never freed")      \
    X(GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN, "group_max_total_usage_first_seen_min",                                    \
      "group-max-total-usage-first-seen-min", 0, TIME, "TIME", 0, false,                                               \
      "only stacks that first reached their peak at this time or later")                                               \
    X(GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX, "group_max_total_usage_first_seen_max",                                    \
      "group-max-total-usage-first-seen-max", 0, TIME_END, "TIME", 0, false,                                           \
      "only stacks that first reached their peak at this time or earlier")                                             \
    X(CHAIN_LENGTH_MIN, "chain_length_min", "chain-length-min", 0, NUMBER, "N", 0, false,                              \
      "only realloc chains of at least this many blocks")                                                              \
    X(CHAIN_LENGTH_MAX, "chain_length_max", "chain-length-max", 0, NUMBER, "N", 0, false,                              \
      "only realloc chains of at most this many blocks")                                                               \
    X(CHAIN_LIFETIME_MIN, "chain_lifetime_min", "chain-lifetime-min", 0, INTERVAL, "INTERVAL", 0, false,               \
      "only realloc chains that lived at least this long")                                                             \
    X(CHAIN_LIFETIME_MAX, "chain_lifetime_max", "chain-lifetime-max", 0, INTERVAL, "INTERVAL", 0, false,               \
      "only realloc chains that lived at most this long")                                                              \
    X(POSITION_IN_CHAIN_MIN, "position_in_chain_min", "position-in-chain-min", 0, NUMBER, "N", 0, false,               \
      "only blocks at this position of their realloc chain or later; the first is 0")                                  \
    X(POSITION_IN_CHAIN_MAX, "position_in_chain_max", "position-in-chain-max", 0, NUMBER, "N", 0, false,               \
      "only blocks at this position of their realloc chain or earlier")                                                \
    X(ALIVE_AT, "alive_at", "alive-at", 0, TIME, "TIME", 0, false, "only blocks that were live at this time")          \
    X(ALIVE_AT_2, "alive_at_2", "alive-at-2", 0, TIME, "TIME", 0, false,                                               \
      "only blocks that were also live at this time")                                                                  \
    X(FROM_MAP, "from_map", "from-map", 0, NUMBER_64, "ID", 0, false,                                                  \
      "only blocks within the mapping with this number while it existed")                                              \
    X(WHERE, "where", "where", 0, EXPRESSION, "EXPRESSION", 0, false,                                                  \
      "only blocks that match this expression of filters, joined with and, or, not and parentheses")                   \
    X(CUSTOM_FILTER, "custom_filter", "custom-filter", 0, TEXT, "SCRIPT", 0, false,                                    \
      "a script of other recorders; heapsonde accepts only an empty one")                                              \
    X(ERA, "era", "era", 0, CHOICE, "VERSION", "0.1 0.7", false,                                                       \
      "interpret the filter as this version of memory-profiler does; default 0.7")                                     \
    X(TIME_UNIT, "time_unit", "time-unit", 0, CHOICE, "UNIT", "auto s ms start", false,                                \
      "unit of times without a unit: seconds or milliseconds since 1970, or seconds since the start; auto chooses "    \
      "between seconds and milliseconds by the time of the recording")

enum hs_parameter_id {
#define HS_PARAMETER_ID(id, ...) HS_PARAMETER_##id,
    HS_FILTER_PARAMETERS(HS_PARAMETER_ID)
#undef HS_PARAMETER_ID
        HS_PARAMETER_COUNT
};

struct hs_parameter {
    const char *name;   // as in a query: size_min
    const char *option; // as on the command line: --size-min
    enum hs_parameter_kind kind;
    const char *argument; // what the value is called in helps: SIZE
    const char *choices;  // CHOICE: the words with one space between; else NULL
    bool repeatable;      // given several times: any of the values
    const char *help;     // one sentence, no full stop
};

extern const struct hs_parameter hs_parameters[HS_PARAMETER_COUNT]; // by enum hs_parameter_id

// The parameter of this name, with _ or - between its words; NULL: none.
const struct hs_parameter *hs_parameter__find(const char *name);

// Whether it speaks of frames alone, so that a heap dump can answer it, too; `where` may.
bool hs_parameter__is_of_frames(enum hs_parameter_id id);

// Whether it also applies to samples of CPU time and page faults; `where` may.
bool hs_parameter__is_of_samples(enum hs_parameter_id id);

// Describes values of this kind, for use after "give": "a size such as 4096, 64K or 1.5M".
const char *hs_parameter_kind__takes(enum hs_parameter_kind kind);

#endif
