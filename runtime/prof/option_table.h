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

enum hs_option_place {
    HS_OPTION_NOWHERE, // only the text is kept
    HS_OPTION_SAMPLER, // in hs_prof_options
    HS_OPTION_TEXTS,   // in hs_prof_texts
    HS_OPTION_CONFIG,  // in hs_config
};

struct hs_option {
    uint64_t maximum;
    int16_t minimum;
    uint16_t texts;                      // where its texts are
    uint16_t offset, size;               // of the value, in its place
    uint8_t kind, limits : 4, place : 4; // enum hs_option_kind, hs_option_limits, hs_option_place
} __attribute__((packed, aligned(2)));   // there are many

#pragma GCC visibility push(hidden)
extern const struct hs_option hs_option_table[];
extern const uint32_t hs_option_count;

const char *hs_option__key(const struct hs_option *option);

// The text of an option without a stored value if it was not given; always accepted.
const char *hs_option__text(const struct hs_option *option);

// Words separated by |.
const char *hs_option__choices(const struct hs_option *option);

// Where the value is stored; NULL: only the text is kept.
void *hs_option__value(const struct hs_option *option);
#pragma GCC visibility pop

#endif
