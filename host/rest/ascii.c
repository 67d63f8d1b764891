// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/ascii.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int hs_ascii_table__add(struct hs_ascii_table *table, const char *format, ...)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 256;
        char **cells = reallocarray(table->cell, capacity, sizeof(char *));
        if (!cells)
            return -ENOMEM;
        table->cell = cells;
        table->capacity = capacity;
    }
    va_list list;
    va_start(list, format);
    int length = vasprintf(&table->cell[table->count], format, list);
    va_end(list);
    if (length < 0)
        return -ENOMEM;
    table->count++;
    return 0;
}

void hs_ascii_table__write(FILE *out, const struct hs_ascii_table *table)
{
    size_t width[HS_ASCII_COLUMNS] = {0};
    for (size_t i = 0; i < table->count; i++) {
        size_t length = strlen(table->cell[i]);
        if (length > width[i % table->columns])
            width[i % table->columns] = length;
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        if (column + 1 < table->columns)
            fprintf(out, "%-*s ", (int)width[column], table->cell[i]);
        else
            fprintf(out, "%s\n", table->cell[i]);
    }
    putc('\n', out);
}

void hs_ascii_table__free(struct hs_ascii_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cell[i]);
    free(table->cell);
    *table = (struct hs_ascii_table){0};
}

void hs_ascii__size(char *text, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    uint64_t unit = 1000;
    unsigned i = 0;
    if (bytes < 1000) {
        snprintf(text, size, "%7" PRIu64, bytes);
        return;
    }
    while (i < 3 && bytes / unit >= 1000) {
        unit *= 1000;
        i++;
    }
    snprintf(text, size, "%3" PRIu64 ".%03" PRIu64 " %s", bytes / unit, bytes % unit / (unit / 1000), units[i]);
}

void hs_ascii__time(char *text, size_t size, uint64_t ns)
{
    uint64_t seconds = ns / 1000000000u;
    uint64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
    int length = 0;
    if (days)
        length = snprintf(text, size, "%" PRIu64 " days ", days);
    if (days || hours)
        length += snprintf(text + length, size - (size_t)length, "%02" PRIu64 "h", hours);
    if (days || hours || minutes)
        length += snprintf(text + length, size - (size_t)length, "%02" PRIu64 "m", minutes);
    snprintf(text + length, size - (size_t)length, "%02" PRIu64 "s", seconds % 60);
}
