// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ARM's exception index from hostile bytes: every entry and its row. The first four bytes say how many entries the
// index has and where it is; the rest is the memory that holds both tables.
#include "unwind/exidx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENTRIES_MAX = 4096 };

static volatile int64_t sink;

static void look_at(const struct hs_exidx *exidx, uint32_t address)
{
    struct hs_exidx_entry entry;
    struct hs_cfi_row cfi_row;
    if (hs_exidx_find(exidx, address, &entry) && hs_exidx_cfi_row(exidx, &entry, &cfi_row))
        sink = cfi_row.cfa_offset + cfi_row.registers[14].value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 5)
        return 0;
    // An exact copy, so that the sanitizer sees every byte read outside of it.
    size_t length = size - 4;
    uint8_t *copy = malloc(length);
    memcpy(copy, data + 4, length);
    uint32_t address = data[0] & 1 ? 0xfffffff0 : 0x10000, start = 0;
    struct hs_exidx exidx = {copy, (uint32_t)length, address, address + data[1], (uint32_t)data[2] << 8 | data[3]};
    if (exidx.count > ENTRIES_MAX)
        exidx.count = UINT32_MAX;
    for (uint32_t i = 0; i < ENTRIES_MAX && hs_exidx_start(&exidx, i, &start); i++) {
        look_at(&exidx, start);
        look_at(&exidx, start + 1);
        look_at(&exidx, start - 1);
    }
    look_at(&exidx, address);
    free(copy);
    return 0;
}
