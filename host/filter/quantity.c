// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/quantity.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct quantity_unit {
    const char *name;
    uint64_t factor;
};

// Digits from *text on, which moves behind them. `base`: 10 or 16.
static bool digits(const char **text, unsigned base, uint64_t *number)
{
    const char *at = *text;
    *number = 0;
    for (;; at++) {
        unsigned char letter = (unsigned char)*at;
        unsigned digit = isdigit(letter)                  ? (unsigned)letter - '0'
                         : base == 16 && isxdigit(letter) ? (unsigned)tolower(letter) - 'a' + 10
                                                          : base;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(*number, (uint64_t)base, number) ||
            __builtin_add_overflow(*number, (uint64_t)digit, number))
            return false;
    }
    bool any = at != *text;
    *text = at;
    return any;
}

// Digits, and more behind a point. What is finer than a part is cut off.
static bool decimal(const char **text, struct hs_decimal *number)
{
    *number = (struct hs_decimal){0};
    if (!digits(text, 10, &number->whole))
        return false;
    if (**text != '.')
        return true;
    ++*text;
    const char *first = *text;
    for (uint32_t part = HS_NANO / 10; isdigit((unsigned char)**text); part /= 10, ++*text)
        number->nano += part * (uint32_t)(**text - '0');
    return *text != first;
}

bool hs_quantity__number(const char *text, uint64_t *number)
{
    return digits(&text, 10, number) && !*text;
}

bool hs_quantity__decimal(const char *text, struct hs_decimal *number)
{
    return decimal(&text, number) && !*text;
}

bool hs_quantity__address(const char *text, uint64_t *address)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    text += hexadecimal ? 2 : 0;
    return digits(&text, hexadecimal ? 16 : 10, address) && !*text;
}

// The number times the factor, rounded.
static bool scale(struct hs_decimal number, uint64_t factor, uint64_t *product)
{
    unsigned __int128 exact = (unsigned __int128)number.whole * factor * HS_NANO;
    exact += (unsigned __int128)number.nano * factor + HS_NANO / 2;
    exact /= HS_NANO;
    *product = (uint64_t)exact;
    return exact <= UINT64_MAX;
}

static const struct quantity_unit *unit_of(const struct quantity_unit *units, const char *name, size_t length)
{
    for (; units->name; units++) {
        if (strlen(units->name) == length && !strncasecmp(units->name, name, length))
            return units;
    }
    return NULL;
}

static void skip_spaces(const char **text)
{
    while (isspace((unsigned char)**text))
        ++*text;
}

bool hs_quantity__size(const char *text, uint64_t *bytes)
{
    static const struct quantity_unit units[] = {{"", 1},
                                                 {"B", 1},
                                                 {"K", 1024},
                                                 {"KB", 1024},
                                                 {"KiB", 1024},
                                                 {"M", 1048576},
                                                 {"MB", 1048576},
                                                 {"MiB", 1048576},
                                                 {"G", 1073741824},
                                                 {"GB", 1073741824},
                                                 {"GiB", 1073741824},
                                                 {"T", 1099511627776},
                                                 {"TB", 1099511627776},
                                                 {"TiB", 1099511627776},
                                                 {NULL, 0}};
    struct hs_decimal number;
    if (!decimal(&text, &number))
        return false;
    skip_spaces(&text);
    const struct quantity_unit *unit = unit_of(units, text, strlen(text));
    return unit && (unit->factor > 1 || !number.nano) && scale(number, unit->factor, bytes);
}

bool hs_quantity__interval(const char *text, uint64_t *nanoseconds)
{
    static const struct quantity_unit units[] = {{"", HS_NANO},
                                                 {"h", 3600ull * HS_NANO},
                                                 {"m", 60ull * HS_NANO},
                                                 {"min", 60ull * HS_NANO},
                                                 {"s", HS_NANO},
                                                 {"ms", HS_NANO / 1000},
                                                 {"us", HS_NANO / 1000000},
                                                 {"ns", 1},
                                                 {"d", 86400ull * HS_NANO},
                                                 {NULL, 0}};
    *nanoseconds = 0;
    for (skip_spaces(&text); *text; skip_spaces(&text)) {
        struct hs_decimal number;
        uint64_t part;
        if (!decimal(&text, &number))
            return false;
        skip_spaces(&text);
        size_t length = 0;
        while (isalpha((unsigned char)text[length]))
            length++;
        const struct quantity_unit *unit = unit_of(units, text, length);
        text += length;
        if (!unit || (!length && *text) || !scale(number, unit->factor, &part) ||
            __builtin_add_overflow(*nanoseconds, part, nanoseconds))
            return false;
    }
    return true;
}

bool hs_quantity__percent(const char *text, struct hs_decimal *percent)
{
    return decimal(&text, percent) && text[0] == '%' && !text[1];
}

uint64_t hs_quantity__share(struct hs_decimal percent, uint64_t whole)
{
    unsigned __int128 parts = (unsigned __int128)percent.whole * HS_NANO + percent.nano;
    unsigned __int128 most = (unsigned __int128)UINT64_MAX * 100 * HS_NANO;
    if (whole && parts > most / whole)
        return UINT64_MAX;
    return (uint64_t)(parts * whole / (100ull * HS_NANO));
}
