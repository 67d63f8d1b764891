// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A text in a statement, whatever is in it.
#ifndef HEAPSONDE_HOST_FLEET_SQL_TEXT_H
#define HEAPSONDE_HOST_FLEET_SQL_TEXT_H

#include <stdint.h>
#include <stdio.h>

static inline void hs_sql__text(FILE *out, const char *text)
{
    fputs("unhex('", out);
    for (; *text; text++)
        fprintf(out, "%02x", (uint8_t)*text);
    fputs("')", out);
}

#endif
