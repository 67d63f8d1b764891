// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The options by name: kind of value, limits, and where the value is stored. Options of jemalloc that have no effect
// here store nothing; their text is kept, because programs read it back.
#ifndef HEAPSONDE_RUNTIME_PROF_OPTION_TABLE_H
#define HEAPSONDE_RUNTIME_PROF_OPTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum hs_option_kind {
    HS_OPTION_BOOLEAN,
    HS_OPTION_UNSIGNED,
    HS_OPTION_SIGNED,
    HS_OPTION_FRACTION, // "0.25"
    HS_OPTION_TEXT,
    HS_OPTION_LETTERS, // letters of malloc_stats_print(), each once
    HS_OPTION_CHOICE,  // the value is the index of the word among the choices
    HS_OPTION_SIZE,    // a number, optionally followed by k, m, g or t
    HS_OPTION_STEP,    // a size, or a number followed by %
    HS_OPTION_RANGES,  // "1-10:2|20-30:4"
};

enum hs_option_limits {
    HS_OPTION_REJECTS, // rejects values out of range
    HS_OPTION_CLIPS,
};

struct hs_option {
    const char *key;
    const char *text;    // text of an option without a stored value if it was not given; always accepted
    const char *choices; // words separated by |
    int64_t minimum;
    uint64_t maximum;
    void *value; // NULL: only the text is kept
    uint8_t kind, limits;
    uint16_t size; // size of *value
};

#pragma GCC visibility push(hidden)
extern const struct hs_option hs_option_table[];
extern const uint32_t hs_option_count;
#pragma GCC visibility pop

#endif
