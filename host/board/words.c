// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

// Reads one word from the line into `to`, which is large enough. False: a quote is not closed.
static bool take_word(const char **line, char *to)
{
    char quote = 0;
    const char *at = *line;
    for (; *at && (quote || !strchr(blanks, *at)); at++) {
        bool escapes = quote == '"' ? at[1] && strchr("\"\\$`", at[1]) : !quote && at[1];
        if (quote && *at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == '\\' && escapes)
            *to++ = *++at;
        else
            *to++ = *at;
    }
    *to = 0;
    *line = at;
    return !quote;
}

char **hs_words__split(const char *line)
{
    size_t count = 0, length = strlen(line);
    char **words = calloc(length / 2 + 2, sizeof(*words));
    while (words && *(line += strspn(line, blanks))) {
        words[count] = malloc(strlen(line) + 1);
        if (!words[count] || !take_word(&line, words[count])) {
            hs_words__free(words);
            return NULL;
        }
        count++;
    }
    return words;
}

void hs_words__free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

size_t hs_words__count(char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

// Quotes within quotes take many characters.
static bool is_plain(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_%+=:,./-";
    return *word && !word[strspn(word, plain)];
}

void hs_words__quote(FILE *out, const char *word)
{
    if (is_plain(word)) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    }
    putc('\'', out);
}
