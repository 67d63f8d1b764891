// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/values.h"

#include "host/filter/quantity.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hs_value__number(const char *text, uint64_t *number)
{
    return hs_quantity__number(text, number);
}

bool hs_value__size(const char *text, uint64_t *bytes)
{
    return hs_quantity__size(text, bytes);
}

bool hs_value__duration(const char *text, uint64_t *nanoseconds)
{
    return *text && !strchr(text, ' ') && hs_quantity__interval(text, nanoseconds);
}

bool hs_value__percent(const char *text, double *percent)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    *percent = strtod(text, &end);
    if (*end == '%')
        end++;
    return !*end && *percent >= 0 && *percent <= 100;
}

bool hs_value__choice(const char *text, const char *choices)
{
    size_t length = strlen(text);
    for (const char *word = choices; *word;) {
        size_t word_length = strcspn(word, " ");
        if (word_length == length && !memcmp(word, text, length))
            return true;
        word += word_length + (word[word_length] == ' ');
    }
    return false;
}

bool hs_value__file(const char *text)
{
    struct stat status;
    return !stat(text, &status) && S_ISREG(status.st_mode) && !access(text, R_OK);
}

bool hs_value__directory(const char *text)
{
    struct stat status;
    return !stat(text, &status) && S_ISDIR(status.st_mode) && !access(text, R_OK | X_OK);
}
