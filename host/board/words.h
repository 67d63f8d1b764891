// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Lines of words as a shell takes and writes them.
#ifndef HEAPSONDE_HOST_BOARD_WORDS_H
#define HEAPSONDE_HOST_BOARD_WORDS_H

#include <stddef.h>
#include <stdio.h>

// Splits a line at white space; '...', "..." and a backslash keep what they keep in a shell. Nothing else is special.
// The result, whose last word is NULL, is freed with hs_words__free. NULL: a quote is not closed, or out of memory.
char **hs_words__split(const char *line);
void hs_words__free(char **words);
size_t hs_words__count(char *const *words);

// Writes one word so that a shell reads it as it is.
void hs_words__quote(FILE *out, const char *word);

#endif
