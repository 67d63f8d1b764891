// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a string is made of.
#ifndef HEAPSONDE_BASE_STRINGS_H
#define HEAPSONDE_BASE_STRINGS_H

#include <stdbool.h>
#include <string.h>

static inline bool hs_string__begins_with(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

static inline bool hs_string__is_digits(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

// The value of a hexadecimal digit in either case; -1: it is none.
static inline int hs_string__digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
