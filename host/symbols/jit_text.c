// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/jit_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void copy(struct hs_jit_text *to, const char *text, size_t length)
{
    length = length < sizeof(to->text) ? length : sizeof(to->text) - 1;
    for (size_t i = 0; i < length; i++)
        to->text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    to->text[length] = '\0';
}

// If the text ends with `:` and a number, cuts it there and returns where the number begins, else NULL.
static char *cut_number(char *text)
{
    char *colon = strrchr(text, ':');
    if (!colon || !isdigit((unsigned char)colon[1]))
        return NULL;
    for (const char *at = colon + 1; *at; at++)
        if (!isdigit((unsigned char)*at))
            return NULL;
    *colon = '\0';
    return colon + 1;
}

static uint32_t number_of(const char *digits)
{
    unsigned long long number = strtoull(digits, NULL, 10);
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

// ---- V8 ------------------------------------------------------------------------------------------------------------

// The text behind the kind of the code and the mark of the compiler (`*`, `+`, `^`, `~`); NULL: of another kind.
static char *behind_the_kind(char *text)
{
    static const char *const kinds[] = {"JS:", "Eval:", "Script:", "Function:", "LazyCompile:"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        size_t length = strlen(kinds[i]);
        if (!strncmp(text, kinds[i], length))
            return text + length + (text[length] && strchr("*+^~", text[length]) != NULL);
    }
    return NULL;
}

// The blank before the file. Names of functions and of files may contain blanks themselves.
static char *blank_before_file(char *text)
{
    static const char *const beginnings[] = {"/", "file:", "node:"};
    for (char *at = strchr(text, ' '); at; at = strchr(at + 1, ' '))
        for (size_t i = 0; i < COUNT(beginnings); i++)
            if (!strncmp(at + 1, beginnings[i], strlen(beginnings[i])))
                return at;
    return strrchr(text, ' ');
}

static bool is_v8(struct hs_jit_text *to)
{
    char *name = behind_the_kind(to->text);
    char *column = name ? cut_number(name) : NULL;
    char *line = column ? cut_number(name) : NULL;
    if (!line) {
        if (column)
            column[-1] = ':';
        return false;
    }
    to->line = number_of(line);
    char *blank = blank_before_file(name);
    char *file = blank ? blank + 1 : name;
    if (blank)
        *blank = '\0';
    if (!strncmp(file, "file:///", 8))
        file += 7;
    to->file = *file ? file : NULL;
    to->function = blank && *name ? name : "(anonymous)";
    return true;
}

// ---- others --------------------------------------------------------------------------------------------------------

static bool is_python(struct hs_jit_text *to)
{
    char *name = to->text + 4, *colon = strncmp(to->text, "py::", 4) != 0 ? NULL : strchr(name, ':');
    if (!colon || colon == name)
        return false;
    *colon = '\0';
    to->function = name;
    to->file = colon[1] ? colon + 1 : NULL;
    return true;
}

static bool is_luajit(struct hs_jit_text *to)
{
    char *colons = strncmp(to->text, "TRACE_", 6) != 0 ? NULL : strstr(to->text, "::");
    char *line = colons ? cut_number(colons + 2) : NULL;
    if (!line)
        return false;
    *colons = '\0';
    to->line = number_of(line);
    to->file = colons[2] ? colons + 2 : NULL;
    return true;
}

void hs_jit_text__split(struct hs_jit_text *to, const char *text, size_t length)
{
    copy(to, text, length);
    to->function = *to->text ? to->text : "(anonymous)";
    to->file = NULL;
    to->line = 0;
    if (!is_v8(to) && !is_python(to))
        is_luajit(to);
}
