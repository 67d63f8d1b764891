// SPDX-License-Identifier: MIT OR Apache-2.0
//
// CIE and FDE records (DWARF 5 section 6.4.1, and the .eh_frame variant of the Linux Standard Base).
#include "unwind/cfi.h"

enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

struct record {
    struct hs_reader body; // after the length
    uint64_t id;           // CIE pointer or CIE mark
    const uint8_t *id_place;
    const uint8_t *next;
    bool is_cie;
};

static uintptr_t read_format(struct hs_reader *reader, uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case PE_ABSPTR:
        return HS_WORD_SIZE == 8 ? (uintptr_t)hs_read_u64(reader) : hs_read_u32(reader);
    case PE_ULEB128:
        return (uintptr_t)hs_read_uleb128(reader);
    case PE_UDATA2:
        return hs_read_u16(reader);
    case PE_UDATA4:
        return hs_read_u32(reader);
    case PE_UDATA8:
    case PE_SDATA8:
        return (uintptr_t)hs_read_u64(reader);
    case PE_SLEB128:
        return (uintptr_t)hs_read_sleb128(reader);
    case PE_SDATA2:
        return (uintptr_t)(intptr_t)(int16_t)hs_read_u16(reader);
    case PE_SDATA4:
        return (uintptr_t)(intptr_t)(int32_t)hs_read_u32(reader);
    }
    reader->failed = true;
    return 0;
}

uintptr_t hs_cfi_read_pointer(struct hs_reader *reader, uint8_t encoding, const struct hs_cfi_section *section)
{
    if (encoding == PE_OMIT)
        return 0;
    uintptr_t place = (uintptr_t)reader->at;
    uintptr_t value = read_format(reader, encoding);
    switch (encoding & 0x70) {
    case 0:
        return value + section->bias;
    case PE_PCREL:
        return value + place;
    case PE_DATAREL:
        return value + section->data_base;
    }
    reader->failed = true;
    return 0;
}

// The length and the id of the record at `at`. False at the end of the section or when it is damaged.
static enum hs_fde_result read_head(const struct hs_cfi_section *section, const uint8_t *at, struct record *record)
{
    if (at < section->start || at >= section->end)
        return HS_FDE_END;
    struct hs_reader reader = {at, section->end, false};
    uint64_t length = hs_read_u32(&reader);
    bool wide = length == 0xffffffff;
    if (wide)
        length = hs_read_u64(&reader);
    if (reader.failed || length > (uint64_t)(reader.end - reader.at))
        return HS_FDE_BAD;
    if (!length)
        return HS_FDE_END;
    reader.end = record->next = reader.at + length;
    record->id_place = reader.at;
    bool wide_id = wide && section->debug_frame;
    record->id = wide_id ? hs_read_u64(&reader) : hs_read_u32(&reader);
    uint64_t mark = !section->debug_frame ? 0 : wide_id ? ~(uint64_t)0 : 0xffffffff;
    record->is_cie = record->id == mark;
    record->body = reader;
    return reader.failed ? HS_FDE_BAD : HS_FDE_FOUND;
}

// The letters of a 'z' augmentation and their data.
static bool read_augmentation(const struct hs_cfi_section *section, struct hs_reader *reader, const uint8_t *letters,
                              struct hs_fde *fde)
{
    if (*letters != 'z')
        return *letters == 0;
    fde->has_augmentation_data = true;
    uint64_t length = hs_read_uleb128(reader);
    struct hs_reader data = *reader;
    hs_reader_skip(reader, length);
    if (reader->failed)
        return false;
    data.end = reader->at;
    for (letters++; *letters; letters++) {
        uint8_t encoding;
        switch (*letters) {
        case 'R':
            fde->pointer_encoding = hs_read_u8(&data);
            break;
        case 'P':
            encoding = hs_read_u8(&data);
            hs_cfi_read_pointer(&data, encoding & 0x7f, section);
            break;
        case 'L':
            hs_read_u8(&data);
            break;
        case 'S':
            fde->signal_frame = true;
            break;
        case 'B':
            break;
        default:
            return true; // unknown letters end what can be understood; 'z' tells where the instructions start
        }
    }
    return !data.failed;
}

static bool read_cie(const struct hs_cfi_section *section, const uint8_t *at, struct hs_fde *fde)
{
    struct record record;
    if (read_head(section, at, &record) != HS_FDE_FOUND || !record.is_cie)
        return false;
    struct hs_reader reader = record.body;
    uint8_t version = hs_read_u8(&reader);
    if (version != 1 && version != 3 && version != 4)
        return false;
    const uint8_t *letters = reader.at;
    while (hs_read_u8(&reader))
        ;
    if (reader.failed)
        return false;
    fde->pointer_encoding = PE_ABSPTR;
    fde->has_augmentation_data = fde->signal_frame = false;
    if (version == 4) {
        uint8_t address_size = hs_read_u8(&reader), segment_size = hs_read_u8(&reader);
        if (address_size != HS_WORD_SIZE || segment_size)
            return false;
    }
    fde->code_alignment = hs_read_uleb128(&reader);
    fde->data_alignment = hs_read_sleb128(&reader);
    fde->return_address_column = version == 1 ? hs_read_u8(&reader) : hs_read_uleb128(&reader);
    if (reader.failed || !read_augmentation(section, &reader, letters, fde))
        return false;
    fde->initial_instructions = reader.at;
    fde->initial_instructions_end = reader.end;
    return !reader.failed;
}

static const uint8_t *cie_place(const struct hs_cfi_section *section, const struct record *record)
{
    uint64_t from_start =
        section->debug_frame ? record->id : (uint64_t)(record->id_place - section->start) - record->id;
    return from_start < (uint64_t)(section->end - section->start) ? section->start + from_start : NULL;
}

enum hs_fde_result hs_cfi_read_record(const struct hs_cfi_section *section, const uint8_t *at, struct hs_fde *fde)
{
    struct record record;
    enum hs_fde_result result = read_head(section, at, &record);
    if (result != HS_FDE_FOUND)
        return result;
    fde->next = record.next;
    if (record.is_cie)
        return HS_FDE_OTHER;
    const uint8_t *cie = cie_place(section, &record);
    if (!cie || (cie != fde->cie && !read_cie(section, cie, fde)))
        return HS_FDE_BAD;
    fde->cie = cie;
    struct hs_reader reader = record.body;
    fde->start = hs_cfi_read_pointer(&reader, fde->pointer_encoding, section);
    fde->end = fde->start + read_format(&reader, fde->pointer_encoding);
    if (fde->has_augmentation_data)
        hs_reader_skip(&reader, hs_read_uleb128(&reader));
    if (reader.failed || fde->end < fde->start)
        return HS_FDE_BAD;
    fde->instructions = reader.at;
    fde->instructions_end = reader.end;
    return HS_FDE_FOUND;
}

bool hs_cfi_expression(const struct hs_cfi_section *section, int64_t place, struct hs_reader *expression)
{
    if (place < 0 || place >= section->end - section->start)
        return false;
    struct hs_reader reader = {section->start + place, section->end, false};
    uint64_t length = hs_read_uleb128(&reader);
    if (reader.failed || length > (uint64_t)(reader.end - reader.at))
        return false;
    *expression = (struct hs_reader){reader.at, reader.at + length, false};
    return true;
}
