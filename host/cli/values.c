// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct unit {
    const char *name;
    double factor;
};

bool hs_value__number(const char *text, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && !*end;
}

// A plain decimal number and one of the units. Numbers without a fraction are exact.
static bool measured(const char *text, const struct unit *units, size_t unit_count, uint64_t *value)
{
    char *end;
    char *whole_end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    double number = strtod(text, &end);
    uint64_t whole = strtoull(text, &whole_end, 10);
    if (errno || memchr(text, 'x', (size_t)(end - text)))
        return false;
    for (size_t i = 0; i < unit_count; i++) {
        if (strcasecmp(end, units[i].name))
            continue;
        double product = number * units[i].factor;
        if (!(product < 18446744073709551615.0))
            return false;
        bool exact = whole_end == end && units[i].factor >= 1;
        *value = exact ? whole * (uint64_t)units[i].factor : (uint64_t)llround(product);
        return true;
    }
    return false;
}

bool hs_value__size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        {"", 1},          {"B", 1},          {"K", 1024},         {"KiB", 1024},        {"M", 1048576},
        {"MiB", 1048576}, {"G", 1073741824}, {"GiB", 1073741824}, {"T", 1099511627776}, {"TiB", 1099511627776}};
    return measured(text, units, sizeof(units) / sizeof(units[0]), bytes);
}

bool hs_value__duration(const char *text, uint64_t *nanoseconds)
{
    static const struct unit units[] = {{"", 1e9},     {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},   {"ns", 1},
                                        {"min", 6e10}, {"m", 6e10}, {"h", 3.6e12}, {"d", 8.64e13}};
    return measured(text, units, sizeof(units) / sizeof(units[0]), nanoseconds);
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

bool hs_value__directory(const char *text)
{
    struct stat status;
    return !stat(text, &status) && S_ISDIR(status.st_mode) && !access(text, R_OK | X_OK);
}
