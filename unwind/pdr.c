// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/pdr.h"

#include "arch/system.h"
#include "unwind/file_attachment.h"

enum { RECORD_SIZE = 32, MASKED_REGISTERS = 32, WORD = 8, SP = 29, S8 = 30, RA = 31 };

// Never unmapped: the file that it belongs to is not either.
struct pdr_index {
    struct hs_pdr pdr;
    size_t count;
    hs_pdr_entry entries[];
};

static const struct pdr_index no_index; // of files without records

static uint32_t word_at(const struct hs_pdr *pdr, const uint8_t *at)
{
    if (pdr->big_endian)
        return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t hs_pdr_count(const struct hs_pdr *pdr)
{
    return (size_t)(pdr->bytes.end - pdr->bytes.start) / RECORD_SIZE;
}

void hs_pdr_read(const struct hs_pdr *pdr, size_t number, struct hs_pdr_record *record)
{
    const uint8_t *at = pdr->bytes.start + number * RECORD_SIZE;
    record->address = word_at(pdr, at);
    record->saved = word_at(pdr, at + 4);
    record->saved_offset = (int32_t)word_at(pdr, at + 8);
    // The same of floating point registers is passed over.
    record->frame_size = (int32_t)word_at(pdr, at + 20);
    record->frame_register = word_at(pdr, at + 24);
    record->return_register = word_at(pdr, at + 28);
}

bool hs_pdr_slot(const struct hs_pdr_record *record, unsigned number, int32_t *offset)
{
    uint32_t above = record->saved >> number >> 1;
    *offset = (int32_t)((uint32_t)record->saved_offset - WORD * (uint32_t)__builtin_popcount(above));
    return record->saved >> number & 1;
}

bool hs_pdr_usable(const struct hs_pdr_record *record)
{
    int64_t below_highest = WORD * (__builtin_popcount(record->saved) - 1);
    return record->saved >> RA && !(record->saved >> SP & 1) && record->return_register == RA &&
           (record->frame_register == SP || record->frame_register == S8) && record->saved_offset <= -WORD &&
           record->saved_offset % WORD == 0 && record->saved_offset - below_highest >= -record->frame_size;
}

// --- the index

static void sift_down(hs_pdr_entry *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[at] >= heap[child])
            return;
        hs_pdr_entry moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

// First the heap is made, from its last parent to its root; then the greatest goes to the end, as long as there is
// more.
static void sort(hs_pdr_entry *entries, size_t count)
{
    for (size_t parent = count / 2, left = count; left > 1;) {
        if (parent) {
            parent--;
        } else {
            hs_pdr_entry greatest = entries[0];
            entries[0] = entries[--left];
            entries[left] = greatest;
        }
        sift_down(entries, left, parent);
    }
}

void hs_pdr_make_index(const struct hs_pdr *pdr, hs_pdr_entry *index)
{
    size_t count = hs_pdr_count(pdr);
    for (size_t i = 0; i < count; i++)
        index[i] = (uint64_t)word_at(pdr, pdr->bytes.start + i * RECORD_SIZE) << 32 | (uint32_t)i;
    sort(index, count);
}

// The number of entries that start at or before `address`.
static size_t entries_before(const hs_pdr_entry *index, size_t count, uint32_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index[middle] >> 32 <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool hs_pdr_search(const hs_pdr_entry *index, size_t count, uint32_t address, size_t *number)
{
    size_t before = entries_before(index, count, address);
    if (!before)
        return false;
    *number = (size_t)(index[before - 1] & UINT32_MAX);
    return true;
}

// --- of modules

static const void *make_index(struct hs_range file)
{
    struct hs_file_section section;
    if (!hs_file_section(file, ".pdr", &section))
        return &no_index;
    struct hs_pdr pdr = {section.bytes, (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != HS_WORDS_SWAPPED};
    size_t size = sizeof(struct pdr_index) + hs_pdr_count(&pdr) * sizeof(hs_pdr_entry);
    struct pdr_index *index = hs_system_memory(size);
    if (!index)
        return NULL;
    index->pdr = pdr;
    index->count = hs_pdr_count(&pdr);
    hs_pdr_make_index(&pdr, index->entries);
    return index;
}

static const struct pdr_index *index_of(const struct hs_module *module)
{
    return hs_file_attachment_find(module, HS_ATTACHED_PDR, make_index);
}

static void fill_cfi_row(const struct hs_pdr_record *record, struct hs_cfi_row *cfi_row)
{
    *cfi_row = (struct hs_cfi_row){.cfa_offset = record->frame_size, .cfa_register = (uint8_t)record->frame_register};
    for (unsigned i = 0; i < MASKED_REGISTERS && i < HS_DWARF_REGISTERS; i++) {
        int32_t offset;
        if (hs_pdr_slot(record, i, &offset))
            cfi_row->registers[i] = (struct hs_cfi_register){offset, HS_CFI_AT_OFFSET};
    }
}

bool hs_pdr_find_cfi_row(const struct hs_module *module, uintptr_t address, uintptr_t *start,
                         struct hs_cfi_row *cfi_row)
{
    const struct pdr_index *index = index_of(module);
    struct hs_pdr_record record;
    uintptr_t bias;
    size_t number;
    if (!index || !hs_module_bias(module, &bias) ||
        !hs_pdr_search(index->entries, index->count, (uint32_t)(address - bias), &number))
        return false;
    hs_pdr_read(&index->pdr, number, &record);
    if (!hs_pdr_usable(&record))
        return false;
    *start = address - (uint32_t)((uint32_t)(address - bias) - record.address);
    fill_cfi_row(&record, cfi_row);
    return true;
}

void hs_pdr_each_start(const struct hs_module *module, uintptr_t start, size_t size,
                       void (*note)(const void *context, uintptr_t address), const void *context)
{
    const struct pdr_index *index = index_of(module);
    uintptr_t bias;
    if (!index || !hs_module_bias(module, &bias))
        return;
    uint32_t first = (uint32_t)(start - bias);
    size_t i = entries_before(index->entries, index->count, first);
    for (i -= i > 0; i < index->count && index->entries[i] >> 32 < (uint64_t)first + size; i++)
        note(context, start + (uintptr_t)(intptr_t)(int32_t)((uint32_t)(index->entries[i] >> 32) - first));
}
