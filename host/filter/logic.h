// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What conditions and `where` are written in. A reader of words, and AND, OR, NOT and
// parentheses over parts that the caller parses:
//
//   logic    term { "or" term }
//   term     factor { "and" factor }
//   factor   "not" factor | "(" logic ")" | PART
#ifndef HEAPSONDE_FILTER_LOGIC_H
#define HEAPSONDE_FILTER_LOGIC_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_READER_LONGEST 4096
#define HS_READER_DEEPEST 64
#define HS_LOGIC_NODES    256

struct hs_reader {
    const char *text, *at;
    unsigned depth;
    struct hs_error *error;
};

// Sets an error that says where. Returns -EINVAL.
int hs_reader__complain(struct hs_reader *reader, const char *what);

void hs_reader__skip_spaces(struct hs_reader *reader);
bool hs_reader__take_sign(struct hs_reader *reader, const char *sign);
size_t hs_reader__word_length(const char *at);
// Letters, digits and what numbers and names have within them.
int hs_reader__take_word(struct hs_reader *reader, char *word, size_t size, const char *missing);
// A word up to a space, a comma, a parenthesis or a quote, or anything in quotes.
int hs_reader__take_value(struct hs_reader *reader, char *value, size_t size);

enum hs_logic_join { HS_LOGIC_PART, HS_LOGIC_NOT, HS_LOGIC_AND, HS_LOGIC_OR };

struct hs_logic_node {
    enum hs_logic_join join;
    uint32_t left, right; // of AND and OR; NOT: left; PART: left is the number of the part
};

// Nodes come after those that they are made of; the last one is all of it.
struct hs_logic {
    struct hs_logic_node node[HS_LOGIC_NODES];
    uint32_t count;
};

// Reads one part and numbers it. 0 or a negative errno.
typedef int (*hs_logic_taker)(void *context, struct hs_reader *reader, uint32_t *part);

// Reads as much as belongs to it.
int hs_logic__read(struct hs_logic *logic, struct hs_reader *reader, hs_logic_taker take, void *context);

#endif
