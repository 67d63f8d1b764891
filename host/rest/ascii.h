// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Text tables. Each column except the last is as wide as its widest cell.
#ifndef HEAPSONDE_HOST_REST_ASCII_H
#define HEAPSONDE_HOST_REST_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { HS_ASCII_COLUMNS = 5 };

// The cells are added twice, row by row: first to measure them, then to print them.
struct hs_ascii_table {
    unsigned columns;
    // Private.
    FILE *out; // NULL: measuring
    unsigned column;
    size_t width[HS_ASCII_COLUMNS];
    char *cell;
    size_t room;
};

// Adds the next cell. 0 or -ENOMEM.
int hs_ascii_table__add(struct hs_ascii_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Begins the second pass.
void hs_ascii_table__print(struct hs_ascii_table *table, FILE *out);
// Ends the table, with an empty line after it if it was printed.
void hs_ascii_table__end(struct hs_ascii_table *table);

// "  1.234 MB", "    123"
void hs_ascii__size(char *text, size_t size, uint64_t bytes);
// "2 days 03h04m05s", "05s"
void hs_ascii__time(char *text, size_t size, uint64_t ns);

#endif
