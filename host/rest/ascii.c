// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/ascii.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int format_cell(struct hs_ascii_table *table, const char *format, va_list list, size_t *length)
{
    va_list again;
    va_copy(again, list);
    int needed = vsnprintf(table->cell, table->room, format, list);
    if (needed >= 0 && (size_t)needed >= table->room) {
        const size_t room = 2 * (size_t)needed + 64;
        char *cell = realloc(table->cell, room);
        if (cell) {
            table->cell = cell;
            table->room = room;
        }
        needed = cell ? vsnprintf(cell, room, format, again) : -1;
    }
    va_end(again);
    *length = needed < 0 ? 0 : (size_t)needed;
    return needed < 0 ? -ENOMEM : 0;
}

static int add_cell(struct hs_ascii_table *table, bool is_last, const char *format, va_list list)
{
    size_t length, *width = &table->width[table->column];
    if (!table->out && is_last)
        return 0;
    int failed = format_cell(table, format, list, &length);
    if (failed)
        return failed;
    if (!table->out)
        *width = length > *width ? length : *width;
    else if (is_last)
        fprintf(table->out, "%s\n", table->cell);
    else
        fprintf(table->out, "%-*s ", (int)*width, table->cell);
    return 0;
}

int hs_ascii_table__add(struct hs_ascii_table *table, const char *format, ...)
{
    va_list list;
    const bool is_last = table->column + 1 == table->columns;
    va_start(list, format);
    int failed = add_cell(table, is_last, format, list);
    va_end(list);
    table->column = is_last ? 0 : table->column + 1;
    return failed;
}

void hs_ascii_table__print(struct hs_ascii_table *table, FILE *out)
{
    table->out = out;
    table->column = 0;
}

void hs_ascii_table__end(struct hs_ascii_table *table)
{
    if (table->out)
        putc('\n', table->out);
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
