// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reading lines of text that may say anything.
#ifndef HEAPSONDE_HOST_DUMP_TEXT_H
#define HEAPSONDE_HOST_DUMP_TEXT_H

#include "host/dump/builder.h"

#include <string.h>

struct hs_dump_scan {
    const char *name; // of the file, for messages
    const char *begin, *at, *end;
    uint64_t lines_before; // of `begin` in its file
    struct hs_dump_builder *builder;
    struct hs_error *error;
};

// A line without its end and without blanks at its start.
struct hs_line {
    const char *at, *end;
};

static inline bool hs_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

// False at the end. A last line without a line feed is not complete and is left out: hs_dump_scan__cut_line says so.
static inline bool hs_dump_scan__line(struct hs_dump_scan *scan, struct hs_line *line)
{
    const char *feed = scan->at < scan->end ? memchr(scan->at, '\n', (size_t)(scan->end - scan->at)) : NULL;
    if (!feed)
        return false;
    *line = (struct hs_line){scan->at, feed};
    scan->at = feed + 1;
    while (line->at < line->end && hs_is_blank(*line->at))
        line->at++;
    while (line->end > line->at && hs_is_blank(line->end[-1]))
        line->end--;
    return true;
}

static inline void hs_line__skip_blanks(struct hs_line *line)
{
    while (line->at < line->end && hs_is_blank(*line->at))
        line->at++;
}

static inline bool hs_line__begins(const struct hs_line *line, const char *with)
{
    size_t length = strlen(with);
    return (size_t)(line->end - line->at) >= length && !memcmp(line->at, with, length);
}

static inline bool hs_line__take(struct hs_line *line, const char *with)
{
    if (!hs_line__begins(line, with))
        return false;
    line->at += strlen(with);
    return true;
}

// A decimal number of 64 bits; false when there is none or it is larger.
static inline bool hs_line__number(struct hs_line *line, uint64_t *number)
{
    const char *start = line->at;
    uint64_t value = 0;
    for (; line->at < line->end && *line->at >= '0' && *line->at <= '9'; line->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*line->at - '0'), &value))
            return false;
    }
    *number = value;
    return line->at > start;
}

extern const signed char hs_hex_digits[256]; // the value of a digit, -1

// The same in hexadecimal, without a prefix.
static inline bool hs_line__hex(struct hs_line *line, uint64_t *number)
{
    const char *start = line->at;
    uint64_t value = 0;
    for (; line->at < line->end; line->at++) {
        int digit = hs_hex_digits[(unsigned char)*line->at];
        if (digit < 0)
            break;
        if (value >> 60)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *number = value;
    return line->at > start;
}

// A number. A negative one is 0, and noted in the builder.
bool hs_line__count(struct hs_line *line, struct hs_dump_builder *builder, uint64_t *number);
// "COUNT: BYTES [COUNT: BYTES]".
bool hs_line__counts(struct hs_line *line, struct hs_dump_builder *builder, struct hs_dump_counts *counts);

// -EINVAL with "NAME:LINE: ..." for the line that holds `at`.
__attribute__((format(printf, 3, 4))) int hs_dump_scan__wrong(struct hs_dump_scan *scan, const char *at,
                                                              const char *format, ...);
int hs_dump_scan__out_of_memory(struct hs_dump_scan *scan);

// Warns when the text ends without a line feed.
int hs_dump_scan__cut_line(struct hs_dump_scan *scan);

// " 0x.. 0x..": the frames of a stack. All but the innermost are return addresses, and that one may be. Returns 0,
// -ENOMEM or -EINVAL, both without a message.
int hs_line__stack(struct hs_line *line, struct hs_dump_builder *builder, bool innermost_returns);

// A frame as Valgrind writes it: "0xADDRESS: FUNCTION (FILE:LINE)" or "... (in MODULE)". The addresses of a run say
// nothing about another one: a frame is known by its names. HS_DUMP_NONE: out of memory.
uint32_t hs_dump_builder__valgrind_frame(struct hs_dump_builder *builder, const char *text, size_t length);
// What it says of its program and of its unit of time.
int hs_dump_builder__valgrind_run(struct hs_dump_builder *builder, const char *command, size_t length);
// "in such and such a unit" as a fact, unless it is a unit of time. `unit`: as the format has it. The ns of a unit.
int hs_dump_builder__valgrind_time(struct hs_dump_builder *builder, const char *unit, uint64_t *ns);

// "# key: value"
int hs_line__fact(struct hs_line *line, struct hs_dump_builder *builder);

// The text after MAPPED_LIBRARIES, to the end.
int hs_dump_scan__mappings(struct hs_dump_scan *scan);

// ---- one reader per format ------------------------------------------------------------------------------------------
// Each returns 0 or a negative errno with a message.

int hs_dump_read__heap_v2(struct hs_dump_scan *scan);
int hs_dump_read__heap_profile(struct hs_dump_scan *scan);
int hs_dump_read__symbols(struct hs_dump_scan *scan); // up to and with "--- heap"
int hs_dump_read__collapsed(struct hs_dump_scan *scan);
int hs_dump_read__pprof(struct hs_dump_builder *builder, const uint8_t *bytes, size_t length, bool cut,
                        struct hs_error *error);

int hs_dump_read__massif(struct hs_dump_scan *scan);
int hs_dump_read__dhat(struct hs_dump_scan *scan);

bool hs_dump_recognise__massif(const char *text, size_t length);
bool hs_dump_recognise__dhat(const char *text, size_t length);
bool hs_dump_recognise__collapsed(const char *text, size_t length); // the first lines
bool hs_dump_recognise__pprof(const uint8_t *bytes, size_t length);

#endif
