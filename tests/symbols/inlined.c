// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A unit of one section, whose inlined calls have several ranges each: these count from where the unit begins.
#include <stdlib.h>
#include <string.h>

static inline char *copy(const char *text, size_t room)
{
    char *to = malloc(strlen(text) + room);
    if (!to)
        abort();
    return strcpy(to, text);
}

static inline char *joined(const char *one, const char *two)
{
    char *whole = copy(one, strlen(two) + 1);
    if (*two)
        strcat(whole, two);
    return whole;
}

char *twice(const char *text, int times)
{
    char *last = NULL;
    for (int i = 0; i < times; i++) {
        free(last);
        last = joined(text, text + (i & 1));
    }
    return last ? last : joined("", text);
}
