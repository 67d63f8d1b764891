// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Text in fixed buffers, in place of stdio and <string.h>. Results are always NUL-terminated; text that does not fit is
// cut.
#ifndef HEAPSONDE_RUNTIME_TEXT_H
#define HEAPSONDE_RUNTIME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_text {
    char *at;   // next character
    char *last; // last position for the terminating NUL
};

size_t hs_text__length(const char *text);
bool hs_text__equal(const char *left, const char *right);
bool hs_text__starts_with(const char *text, const char *prefix);
const char *hs_text__base_name(const char *path);

// Parses an unsigned number in `base` at *text and moves *text past it.
uint64_t hs_text__parse(const char **text, unsigned base);

void hs_text__start(struct hs_text *text, char *buffer, size_t size);
void hs_text__add(struct hs_text *text, const char *string);
void hs_text__add_character(struct hs_text *text, char character);
void hs_text__add_number(struct hs_text *text, uint64_t number);

// Reads a whole small file, terminated by NUL; returns its length, 0 on failure.
size_t hs_text__read_file(const char *path, char *buffer, size_t size);

// The same for the file `name` (a literal) of /proc/self; also when the program's first thread has ended.
#define HS_TEXT_READ_OWN(name, buffer, size)                                                                           \
    hs_text__read_own("/proc/self/" name, "/proc/thread-self/" name, buffer, size)
size_t hs_text__read_own(const char *self, const char *thread_self, char *buffer, size_t size);

#endif
