// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/python_lines.h"

static uint32_t line_of(int64_t line)
{
    return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

// Pairs: bytes of instructions, and what is added to the line behind them.
static uint32_t find_in_lnotab(const uint8_t *table, size_t length, int64_t line, int64_t at)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < length && (end += table[i]) <= at; i += 2)
        line += (int8_t)table[i + 1];
    return line_of(line);
}

// Pairs: bytes of instructions, and what is added to the line before them; -128: they have no line.
static uint32_t find_in_linetable(const uint8_t *table, size_t length, int64_t line, int64_t at)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < length; i += 2) {
        const int8_t difference = (int8_t)table[i + 1];
        line += difference == -128 ? 0 : difference;
        end += table[i];
        if (at < end)
            return difference == -128 ? 0 : line_of(line);
    }
    return 0;
}

// Six bits in each byte, the lowest first; the sign is the lowest bit.
static int64_t signed_number(const uint8_t *at, const uint8_t *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 48; shift += 6) {
        value |= (uint64_t)(*at & 0x3f) << shift;
        if (!(*at++ & 0x40))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

// An entry begins with a byte whose highest bit is set: 4 bits of form, 3 of length. Columns follow, which are left
// out.
static uint32_t find_in_locations(const uint8_t *table, size_t length, int64_t line, int64_t unit)
{
    enum { ONE_LINE = 10, MORE_LINES = 13, NO_LINE = 15 };
    const uint8_t *at = table, *end = table + length;
    for (int64_t last = 0; at < end;) {
        const unsigned form = *at >> 3 & 15;
        last += (*at & 7) + 1;
        at++;
        if (form >= MORE_LINES && form < NO_LINE)
            line += signed_number(at, end);
        else if (form >= ONE_LINE && form < MORE_LINES)
            line += form - ONE_LINE;
        if (unit < last)
            return form == NO_LINE ? 0 : line_of(line);
        while (at < end && !(*at & 0x80))
            at++;
    }
    return 0;
}

uint32_t hs_python_lines__find(unsigned kind, const uint8_t *table, size_t length, uint32_t first_line, int64_t unit)
{
    if (unit < 0)
        return first_line;
    if (unit > UINT32_MAX) // of no function
        return 0;
    switch (kind) {
    case HS_PYTHON_LINES_LNOTAB:
        return find_in_lnotab(table, length, first_line, unit * 2);
    case HS_PYTHON_LINES_LINETABLE:
        return find_in_linetable(table, length, first_line, unit * 2);
    case HS_PYTHON_LINES_LOCATIONS:
        return find_in_locations(table, length, first_line, unit);
    default:
        return 0;
    }
}
