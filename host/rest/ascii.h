// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Tables of text whose columns are as wide as their widest cell, all but the last.
#ifndef HEAPSONDE_HOST_REST_ASCII_H
#define HEAPSONDE_HOST_REST_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { HS_ASCII_COLUMNS = 5 };

struct hs_ascii_table {
    unsigned columns;
    char **cell; // row by row
    size_t count, capacity;
};

// The cell that follows. 0 or -ENOMEM.
int hs_ascii_table__add(struct hs_ascii_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hs_ascii_table__write(FILE *out, const struct hs_ascii_table *table);
void hs_ascii_table__free(struct hs_ascii_table *table);

// "  1.234 MB", "    123"
void hs_ascii__size(char *text, size_t size, uint64_t bytes);
// "2 days 03h04m05s", "05s"
void hs_ascii__time(char *text, size_t size, uint64_t ns);

#endif
