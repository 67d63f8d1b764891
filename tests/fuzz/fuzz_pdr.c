// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Procedure descriptors from hostile bytes: a .pdr section alone, or an ELF file with one. The first byte chooses, and
// gives the byte order.
#include "unwind/file_section.h"
#include "unwind/pdr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile int32_t sink;

static void require(bool condition)
{
    if (!condition)
        abort();
}

// What is usable lies within the frame.
static void read_record(const struct hs_pdr *pdr, size_t number)
{
    struct hs_pdr_record record;
    hs_pdr_read(pdr, number, &record);
    bool usable = hs_pdr_usable(&record);
    for (unsigned i = 0; i < 32; i++) {
        int32_t offset;
        if (!hs_pdr_slot(&record, i, &offset))
            continue;
        sink = offset;
        require(!usable || (offset < 0 && offset >= -record.frame_size));
    }
}

static void read_section(const struct hs_pdr *pdr)
{
    size_t count = hs_pdr_count(pdr), number;
    hs_pdr_entry *index = malloc(count * sizeof *index + 1);
    hs_pdr_make_index(pdr, index);
    for (size_t i = 0; i < count; i++) {
        require(i == 0 || index[i - 1] < index[i]);
        require(hs_pdr_search(index, count, (uint32_t)(index[i] >> 32), &number) && number < count);
        read_record(pdr, i);
    }
    free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    // An exact copy, so that the sanitizer sees every byte read outside of it.
    size_t length = size - 1;
    uint8_t *copy = malloc(length);
    memcpy(copy, data + 1, length);
    struct hs_pdr pdr = {{copy, copy + length}, data[0] & 1};
    struct hs_file_section section;
    if (!(data[0] & 2))
        read_section(&pdr);
    else if (hs_file_section(pdr.bytes, ".pdr", &section)) {
        pdr.bytes = section.bytes;
        read_section(&pdr);
    }
    free(copy);
    return 0;
}
