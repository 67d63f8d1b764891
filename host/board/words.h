// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Splits and quotes words as a shell does.
#ifndef HEAPSONDE_HOST_BOARD_WORDS_H
#define HEAPSONDE_HOST_BOARD_WORDS_H

#include <stddef.h>
#include <stdio.h>

// Splits a line at white space. '...', "..." and the backslash quote as in a shell; nothing else is special. The result
// ends with NULL and is freed with hs_words__free. NULL: a quote is not closed, or out of memory.
char **hs_words__split(const char *line);
void hs_words__free(char **words);
size_t hs_words__count(char *const *words);

// Writes one word, quoted for a shell if it has to be. It must not be the first word of a command if it contains '='.
void hs_words__quote(FILE *out, const char *word);

#endif
