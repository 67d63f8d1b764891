// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/columns.h"

#include "format/varint.h"

static size_t packed_size(uint32_t count, unsigned width)
{
    return width ? ((size_t)count * width + 7) / 8 : 1;
}

// `per_byte` is a constant in each use, so that the compiler unrolls and vectorises.
static inline __attribute__((always_inline)) void unpack(const uint8_t *from, uint32_t count, unsigned per_byte,
                                                         uint8_t *symbol)
{
    unsigned width = 8 / per_byte, mask = (1u << width) - 1;
    uint32_t whole = count / per_byte;
    for (uint32_t i = 0; i < whole; i++)
        for (unsigned k = 0; k < per_byte; k++)
            symbol[i * per_byte + k] = (uint8_t)(from[i] >> k * width & mask);
    for (uint32_t i = whole * per_byte; i < count; i++)
        symbol[i] = (uint8_t)(from[whole] >> i % per_byte * width & mask);
}

static const uint8_t *unpack_column(struct hs_entropy_symbols *column, const uint8_t *at, const uint8_t *end)
{
    unsigned width = at < end ? *at++ : 3;
    size_t size = packed_size(column->count, width);
    if (width > 8 || (width & (width - 1)) != 0 || size > (size_t)(end - at))
        return NULL;
    if (width == 0)
        __builtin_memset(column->symbol, *at, column->count);
    else if (width == 1)
        unpack(at, column->count, 8, column->symbol);
    else if (width == 2)
        unpack(at, column->count, 4, column->symbol);
    else if (width == 4)
        unpack(at, column->count, 2, column->symbol);
    else
        __builtin_memcpy(column->symbol, at, column->count);
    return at + size;
}

const uint8_t *hs_columns_unpack(struct hs_entropy_symbols *columns, unsigned column_count, uint8_t *pool,
                                 size_t pool_size, const uint8_t *at, const uint8_t *end)
{
    for (unsigned c = 0; c < column_count; c++) {
        uint64_t count;
        at = hs_varint_get(at, end, &count);
        if (!at || count > pool_size)
            return NULL;
        columns[c].symbol = pool;
        columns[c].count = (uint32_t)count;
        pool += count;
        pool_size -= count;
        if (count && !(at = unpack_column(&columns[c], at, end)))
            return NULL;
    }
    return at;
}
