// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/eh_frame.h"

#include "unwind/work.h"

enum {
    TABLE_ENCODING = 0x3b, // signed 4 bytes from the start of .eh_frame_hdr: what every linker writes
    NO_TABLE = 0xff,
    ENTRY_SIZE = 8,
};

struct header {
    const uint8_t *eh_frame;
    const uint8_t *table;
    size_t entries; // 0: no table that can be searched
};

static int32_t entry_word(const uint8_t *place)
{
    uint32_t value;
    __builtin_memcpy(&value, place, sizeof value);
    return (int32_t)HS_IN_ORDER_32(value);
}

static bool read_header(struct hs_range bytes, struct hs_cfi_section *section, struct header *header)
{
    struct hs_reader reader = {bytes.start, bytes.end, false};
    if (hs_read_u8(&reader) != 1)
        return false;
    uint8_t eh_frame_encoding = hs_read_u8(&reader);
    uint8_t count_encoding = hs_read_u8(&reader);
    uint8_t table_encoding = hs_read_u8(&reader);
    header->eh_frame = (const uint8_t *)hs_cfi_read_pointer(&reader, eh_frame_encoding, section);
    header->entries = 0;
    if (reader.failed || table_encoding != TABLE_ENCODING || count_encoding == NO_TABLE)
        return !reader.failed;
    uintptr_t entries = hs_cfi_read_pointer(&reader, count_encoding, section);
    if (HS_WORDS_LINKED)
        entries -= section->bias; // it is no pointer
    if (reader.failed || entries > (size_t)(reader.end - reader.at) / ENTRY_SIZE)
        return false;
    header->table = reader.at;
    header->entries = entries;
    return true;
}

// The last entry whose function starts at or before `address`.
static const uint8_t *search_table(const struct header *header, uintptr_t base, uintptr_t address)
{
    intptr_t wanted = (intptr_t)(address - base);
    size_t low = 0, high = header->entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_word(header->table + middle * ENTRY_SIZE) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? header->table + (low - 1) * ENTRY_SIZE : NULL;
}

bool hs_eh_frame_scan(const struct hs_cfi_section *section, const uint8_t *first, uintptr_t address, struct hs_fde *fde)
{
    fde->cie = NULL;
    for (const uint8_t *record = first;; record = fde->next) {
        switch (hs_cfi_read_record(section, record, fde)) {
        case HS_FDE_FOUND:
            if (address - fde->start < fde->end - fde->start)
                return true;
            break;
        case HS_FDE_OTHER:
            break;
        case HS_FDE_END:
        case HS_FDE_BAD:
            return false;
        }
        if (!HS_MAY_LOOK_AT((size_t)(fde->next - record)))
            return false;
    }
}

bool hs_eh_frame_search(struct hs_range bytes, uintptr_t address, struct hs_cfi_section *section, struct hs_fde *fde)
{
    struct header header;
    section->data_base = (uintptr_t)bytes.start;
    if (!read_header(bytes, section, &header))
        return false;
    if (!header.entries)
        return hs_eh_frame_scan(section, header.eh_frame, address, fde);
    const uint8_t *entry = search_table(&header, (uintptr_t)bytes.start, address);
    if (!entry)
        return false;
    uintptr_t record = (uintptr_t)bytes.start + (uintptr_t)(intptr_t)entry_word(entry + 4);
    fde->cie = NULL;
    return hs_cfi_read_record(section, (const uint8_t *)record, fde) == HS_FDE_FOUND &&
           address - fde->start < fde->end - fde->start;
}

bool hs_eh_frame_find(const struct hs_module *module, uintptr_t address, struct hs_cfi_section *section,
                      struct hs_fde *fde)
{
    struct hs_range header, frames;
    if (!module->eh_frame_hdr || !hs_module_segment(module, module->eh_frame_hdr, &header))
        return false;
    header.start = module->eh_frame_hdr;
    *section =
        (struct hs_cfi_section){header.start, header.end, (uintptr_t)header.start, hs_module_words_bias(module), false};
    struct header parsed;
    if (!read_header(header, section, &parsed) || !hs_module_segment(module, parsed.eh_frame, &frames))
        return false;
    section->start = frames.start;
    section->end = frames.end;
    return hs_eh_frame_search(header, address, section, fde);
}

void hs_eh_frame_each_start(const struct hs_module *module, uintptr_t start, size_t size,
                            void (*note)(const void *context, uintptr_t address), const void *context)
{
    struct hs_range bytes;
    struct header header;
    if (!module->eh_frame_hdr || !hs_module_segment(module, module->eh_frame_hdr, &bytes))
        return;
    bytes.start = module->eh_frame_hdr;
    uintptr_t base = (uintptr_t)bytes.start, address;
    struct hs_cfi_section section = {bytes.start, bytes.end, base, hs_module_words_bias(module), false};
    if (!read_header(bytes, &section, &header) || !header.entries)
        return;
    const uint8_t *end = header.table + header.entries * ENTRY_SIZE, *entry = search_table(&header, base, start);
    for (entry = entry ? entry : header.table; entry < end; entry += ENTRY_SIZE) {
        address = base + (uintptr_t)(intptr_t)entry_word(entry);
        if ((intptr_t)(address - start) >= (intptr_t)size)
            return;
        note(context, address);
    }
}
