// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An answer of the database in the format TabSeparated, read in place.
#ifndef HEAPSONDE_HOST_FLEET_TSV_H
#define HEAPSONDE_HOST_FLEET_TSV_H

#include "host/base/buffer.h"

#include <stdbool.h>
#include <string.h>

struct hs_tsv {
    char *at; // of the next row
};

static inline struct hs_tsv hs_tsv__begin(const struct hs_buffer *answer)
{
    return (struct hs_tsv){(char *)answer->bytes};
}

// NUL becomes the sign for what cannot be shown: a field ends with a NUL.
static inline char hs_tsv__escaped(char sign)
{
    static const char signs[] = "ntrbf0", meant[] = "\n\t\r\b\f\x1a";
    const char *at = sign ? strchr(signs, sign) : NULL;
    return at ? meant[at - signs] : sign;
}

// Undoes the escapes of a field.
static inline void hs_tsv__unescape(char *field)
{
    char *to = field;
    for (const char *from = field; *from; from++, to++) {
        *to = *from;
        if (*from == '\\' && from[1]) {
            from++;
            *to = hs_tsv__escaped(*from);
        }
    }
    *to = 0;
}

// The fields of the next row; missing ones are "". False: there are no more rows.
static inline bool hs_tsv__next(struct hs_tsv *table, char **fields, size_t count)
{
    if (!table->at || !*table->at)
        return false;
    char *row = table->at, *end = strchr(row, '\n');
    table->at = end ? end + 1 : row + strlen(row);
    if (end)
        *end = 0;
    for (size_t i = 0; i < count; i++) {
        fields[i] = row;
        char *tab = strchr(row, '\t');
        if (tab)
            *tab = 0;
        row = tab ? tab + 1 : row + strlen(row);
        hs_tsv__unescape(fields[i]);
    }
    return true;
}

#endif
