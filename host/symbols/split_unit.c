// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/split_unit.h"

#include <dwarf.h>
#include <stdlib.h>

struct hs_split {
    struct hs_skeleton skeleton;
    struct hs_package_unit unit;
    Elf *elf;
    Dwarf *dwarf;
    Dwarf_Die die;
    Dwarf_Half version;
    uint8_t address_size;
    uint8_t offset_size;
};

// ---- opening -------------------------------------------------------------------------------------------------------

static bool read_unit(struct hs_split *self)
{
    Dwarf_CU *cu = NULL;
    uint8_t type;
    uint64_t id = 0;
    self->elf = elf_memory(self->unit.image, self->unit.size);
    self->dwarf = self->elf ? dwarf_begin_elf(self->elf, DWARF_C_READ, NULL) : NULL;
    return self->dwarf && !dwarf_get_units(self->dwarf, NULL, &cu, &self->version, &type, &self->die, NULL) &&
           !dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &id, &self->address_size, &self->offset_size) &&
           type == DW_UT_split_compile && id == self->skeleton.id &&
           (self->address_size == 4 || self->address_size == 8);
}

struct hs_split *hs_split__open(const struct hs_package *package, const struct hs_skeleton *skeleton)
{
    struct hs_split *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    self->skeleton = *skeleton;
    if (hs_package__map(package, skeleton->id, skeleton->addresses, &self->unit) && read_unit(self))
        return self;
    hs_split__close(self);
    return NULL;
}

void hs_split__close(struct hs_split *self)
{
    if (!self)
        return;
    dwarf_end(self->dwarf);
    elf_end(self->elf);
    if (self->unit.image)
        hs_package__unmap(&self->unit);
    free(self);
}

Dwarf_Die *hs_split__die(struct hs_split *self)
{
    return &self->die;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

// Each takes a number from the front; false at the end of the bytes.
static bool take_number(const struct hs_split *self, struct hs_package_bytes *from, unsigned size, uint64_t *value)
{
    if (from->size < size)
        return false;
    *value = 0;
    for (unsigned i = 0; i < size; i++)
        *value = *value << 8 | from->bytes[self->unit.big_endian ? i : size - 1 - i];
    *from = (struct hs_package_bytes){from->bytes + size, from->size - size};
    return true;
}

static bool take_leb(struct hs_package_bytes *from, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; from->size; shift += 7) {
        uint8_t byte = *from->bytes;
        *from = (struct hs_package_bytes){from->bytes + 1, from->size - 1};
        *value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static struct hs_package_bytes behind(struct hs_package_bytes bytes, uint64_t offset)
{
    if (offset > bytes.size)
        return (struct hs_package_bytes){0};
    return (struct hs_package_bytes){bytes.bytes + offset, bytes.size - offset};
}

static bool take_address(const struct hs_split *self, struct hs_package_bytes *from, uint64_t *address)
{
    return take_number(self, from, self->address_size, address);
}

// The number of an address in the program's table.
static bool take_indexed(const struct hs_split *self, struct hs_package_bytes *from, uint64_t *address)
{
    uint64_t index;
    if (!take_leb(from, &index) || index > self->skeleton.addresses.size / self->address_size)
        return false;
    struct hs_package_bytes there = behind(self->skeleton.addresses, index * self->address_size);
    return take_address(self, &there, address);
}

// ---- lists ---------------------------------------------------------------------------------------------------------

// The base of the entries of .debug_rnglists: after the header of the unit's part.
static struct hs_package_bytes numbered_lists(const struct hs_split *self)
{
    enum { VERSION_TO_COUNT = 8 };
    return behind(self->unit.ranges, (self->offset_size == 8 ? 12u : 4u) + VERSION_TO_COUNT);
}

static struct hs_package_bytes list_of(const struct hs_split *self, const Dwarf_Attribute *ranges)
{
    struct hs_package_bytes nothing = {0};
    const struct hs_package_bytes *info = &self->unit.info;
    struct hs_package_bytes value = behind(*info, (uint64_t)(ranges->valp - info->bytes));
    uint64_t offset;
    if (ranges->form == DW_FORM_rnglistx) {
        struct hs_package_bytes lists = numbered_lists(self);
        if (!take_leb(&value, &offset) || offset > lists.size / self->offset_size)
            return nothing;
        struct hs_package_bytes entry = behind(lists, offset * self->offset_size);
        return take_number(self, &entry, self->offset_size, &offset) ? behind(lists, offset) : nothing;
    }
    if (!take_number(self, &value, self->offset_size, &offset))
        return nothing;
    return behind(self->version < 5 ? self->skeleton.ranges : self->unit.ranges, offset);
}

// .debug_ranges: pairs; if the first is the highest address, the second is the new base.
static bool next_pair(const struct hs_split *self, struct hs_range_walk *walk, uint64_t *low, uint64_t *high)
{
    uint64_t highest = UINT64_MAX >> (64 - 8 * self->address_size);
    while (take_address(self, &walk->rest, low) && take_address(self, &walk->rest, high)) {
        if (*low == highest) {
            walk->base = *high;
            continue;
        }
        if (!*low && !*high)
            return false;
        *low += walk->base;
        *high += walk->base;
        return true;
    }
    return false;
}

static bool take_two_offsets(struct hs_range_walk *walk, uint64_t *low, uint64_t *high)
{
    bool whole = take_leb(&walk->rest, low) && take_leb(&walk->rest, high);
    *low += walk->base;
    *high += walk->base;
    return whole;
}

static bool with_length(struct hs_range_walk *walk, uint64_t low, uint64_t *high)
{
    bool whole = take_leb(&walk->rest, high);
    *high += low;
    return whole;
}

// Of .debug_rnglists.
static bool next_entry(const struct hs_split *self, struct hs_range_walk *walk, uint64_t *low, uint64_t *high)
{
    struct hs_package_bytes *rest = &walk->rest;
    uint64_t kind;
    while (take_number(self, rest, 1, &kind)) {
        switch (kind) {
        case DW_RLE_base_addressx:
            if (!take_indexed(self, rest, &walk->base))
                return false;
            continue;
        case DW_RLE_base_address:
            if (!take_address(self, rest, &walk->base))
                return false;
            continue;
        case DW_RLE_startx_endx:
            return take_indexed(self, rest, low) && take_indexed(self, rest, high);
        case DW_RLE_startx_length:
            return take_indexed(self, rest, low) && with_length(walk, *low, high);
        case DW_RLE_offset_pair:
            return take_two_offsets(walk, low, high);
        case DW_RLE_start_end:
            return take_address(self, rest, low) && take_address(self, rest, high);
        case DW_RLE_start_length:
            return take_address(self, rest, low) && with_length(walk, *low, high);
        default:
            return false;
        }
    }
    return false;
}

bool hs_split__next_range(struct hs_split *self, Dwarf_Die *die, struct hs_range_walk *walk, uint64_t *low,
                          uint64_t *high)
{
    Dwarf_Attribute ranges;
    if (!walk->begun) {
        walk->begun = true;
        walk->base = self->skeleton.base;
        if (!dwarf_lowpc(die, low) && !dwarf_highpc(die, high))
            return true;
        if (dwarf_attr(die, DW_AT_ranges, &ranges))
            walk->rest = list_of(self, &ranges);
    }
    return self->version < 5 ? next_pair(self, walk, low, high) : next_entry(self, walk, low, high);
}

bool hs_split__covers(struct hs_split *self, Dwarf_Die *die, uint64_t address)
{
    struct hs_range_walk walk = {0};
    uint64_t low, high;
    while (hs_split__next_range(self, die, &walk, &low, &high)) {
        if (address >= low && address < high)
            return true;
    }
    return false;
}
