// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/dwarf_frames.h"

#include "host/base/array.h"
#include "host/base/search.h"
#include "host/symbols/split_unit.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_SCOPE 64

struct dwarf_frames_range {
    uint64_t low;
    uint64_t high;
    uint32_t index; // of the unit or the function
};

struct dwarf_frames_ranges {
    struct dwarf_frames_range *items;
    size_t count;
    size_t capacity;
};

struct dwarf_frames_unit {
    Dwarf_Die die;          // lines are here
    Dwarf_Die tree;         // functions are here: the same, or the split unit's
    uint64_t id;            // of a skeleton whose unit libdw has not found, else 0
    uint64_t addresses;     // where that unit's begin in .debug_addr
    struct hs_split *split; // that unit, from the package
    bool indexed;
    struct dwarf_frames_ranges ranges;
    Dwarf_Die *functions;
    size_t function_count;
    size_t function_capacity;
};

struct hs_dwarf {
    Dwarf *dwarf;
    bool indexed;
    bool lacks_units;
    struct dwarf_frames_ranges ranges;
    struct dwarf_frames_unit *units;
    size_t unit_count;
    struct hs_package *package;
};

struct hs_dwarf *hs_dwarf__create(Dwarf *dwarf)
{
    struct hs_dwarf *self = calloc(1, sizeof(*self));
    if (self)
        self->dwarf = dwarf;
    return self;
}

void hs_dwarf__destroy(struct hs_dwarf *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->unit_count; i++) {
        free(self->units[i].ranges.items);
        free(self->units[i].functions);
        hs_split__close(self->units[i].split);
    }
    hs_package__close(self->package);
    free(self->units);
    free(self->ranges.items);
    free(self);
}

// ---- ranges --------------------------------------------------------------------------------------------------------

static void add_range(struct dwarf_frames_ranges *ranges, uint64_t low, uint64_t high, uint32_t index)
{
    // The linker moves discarded functions to address 0; nothing real is there.
    if (low == 0 || low >= high)
        return;
    if (!HS_ARRAY_HAS_ROOM(ranges->items, ranges->count, ranges->capacity))
        return;
    ranges->items[ranges->count++] = (struct dwarf_frames_range){low, high, index};
}

static size_t add_die_ranges(struct dwarf_frames_ranges *ranges, Dwarf_Die *die, uint32_t index)
{
    Dwarf_Addr base = 0;
    Dwarf_Addr low = 0;
    Dwarf_Addr high = 0;
    ptrdiff_t offset = 0;
    size_t before = ranges->count;
    while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0)
        add_range(ranges, low, high, index);
    return ranges->count - before;
}

static size_t add_function_ranges(struct dwarf_frames_unit *unit, Dwarf_Die *die)
{
    struct hs_range_walk walk = {0};
    uint64_t low, high;
    size_t before = unit->ranges.count;
    uint32_t index = (uint32_t)unit->function_count;
    if (!unit->split)
        return add_die_ranges(&unit->ranges, die, index);
    while (hs_split__next_range(unit->split, die, &walk, &low, &high))
        add_range(&unit->ranges, low, high, index);
    return unit->ranges.count - before;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct dwarf_frames_range *a = left;
    const struct dwarf_frames_range *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high > b->high ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void sort_ranges(struct dwarf_frames_ranges *ranges)
{
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
}

// The innermost range that holds the address: the last in order, looking a little further for enclosing ones.
static const struct dwarf_frames_range *find_range(const struct dwarf_frames_ranges *ranges, uint64_t address)
{
    size_t low = HS_SEARCH(ranges->count, i, ranges->items[i].low <= address);
    for (size_t back = 1; back <= DEEPEST_SCOPE && back <= low; back++) {
        if (address < ranges->items[low - back].high)
            return &ranges->items[low - back];
    }
    return NULL;
}

// ---- index ---------------------------------------------------------------------------------------------------------

static uint64_t number_of(Dwarf_Die *die, unsigned name, unsigned older_name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(die, name, &attribute) || dwarf_attr(die, older_name, &attribute))
        dwarf_formudata(&attribute, &value);
    return value;
}

// A unit that libdw has not found.
static void note_skeleton(struct dwarf_frames_unit *unit, Dwarf_CU *cu)
{
    if (dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &unit->id, NULL, NULL))
        return;
    unit->addresses = number_of(&unit->die, DW_AT_addr_base, DW_AT_GNU_addr_base);
}

static void index_units(struct hs_dwarf *self)
{
    self->indexed = true;
    size_t capacity = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die;
    Dwarf_Die split;
    while (dwarf_get_units(self->dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        if (!HS_ARRAY_HAS_ROOM(self->units, self->unit_count, capacity))
            break;
        struct dwarf_frames_unit *unit = &self->units[self->unit_count];
        *unit = (struct dwarf_frames_unit){.die = die, .tree = split.addr ? split : die};
        if (type == DW_UT_skeleton && !split.addr) {
            self->lacks_units = true;
            note_skeleton(unit, cu);
        }
        add_die_ranges(&self->ranges, &die, (uint32_t)self->unit_count);
        self->unit_count++;
    }
    sort_ranges(&self->ranges);
}

bool hs_dwarf__lacks_units(struct hs_dwarf *self)
{
    if (!self->indexed)
        index_units(self);
    return self->lacks_units;
}

// ---- packages ------------------------------------------------------------------------------------------------------

bool hs_dwarf__add_package(struct hs_dwarf *self, struct hs_package *package)
{
    size_t held = 0, lacking = 0;
    for (size_t i = 0; i < self->unit_count; i++) {
        bool wanted = self->units[i].id != 0;
        bool holds = wanted && hs_package__holds(package, self->units[i].id);
        held += holds;
        lacking += wanted && !holds;
    }
    if (!held || self->package)
        return false;
    self->package = package;
    self->lacks_units = lacking != 0;
    return true;
}

// A section of the program's file, unpacked: libdw has done so.
static struct hs_package_bytes section_of(struct hs_dwarf *self, const char *wanted)
{
    Elf *elf = dwarf_getelf(self->dwarf);
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    size_t names;
    while (!elf_getshdrstrndx(elf, &names) && (section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        bool packed = name && !strncmp(name, ".z", 2); // the older form keeps its name
        Elf_Data *data = name && !strcmp(name + 1 + packed, wanted + 1) ? elf_getdata(section, NULL) : NULL;
        if (data && data->d_buf)
            return (struct hs_package_bytes){data->d_buf, data->d_size};
    }
    return (struct hs_package_bytes){0};
}

static struct hs_package_bytes part_of(struct hs_package_bytes section, uint64_t from, uint64_t to)
{
    to = to < section.size ? to : section.size;
    return from < to ? (struct hs_package_bytes){section.bytes + from, to - from} : (struct hs_package_bytes){0};
}

// The beginning of the next unit's addresses: those of each unit are copied.
static uint64_t end_of_addresses(struct hs_dwarf *self, uint64_t from)
{
    uint64_t end = UINT64_MAX;
    for (size_t i = 0; i < self->unit_count; i++) {
        uint64_t other = self->units[i].addresses;
        if (other > from && other < end)
            end = other;
    }
    return end;
}

static void open_split(struct hs_dwarf *self, struct dwarf_frames_unit *unit)
{
    uint64_t addresses = unit->addresses;
    struct hs_skeleton skeleton = {
        .id = unit->id,
        .addresses = part_of(section_of(self, ".debug_addr"), addresses, end_of_addresses(self, addresses)),
        .ranges =
            part_of(section_of(self, ".debug_ranges"), number_of(&unit->die, DW_AT_GNU_ranges_base, 0), UINT64_MAX)};
    if (dwarf_lowpc(&unit->die, &skeleton.base))
        skeleton.base = 0;
    unit->split = hs_split__open(self->package, &skeleton);
    if (unit->split)
        unit->tree = *hs_split__die(unit->split);
}

static bool may_hold_functions(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return true;
    default:
        return false;
    }
}

static void add_function(struct dwarf_frames_unit *unit, Dwarf_Die *die)
{
    if (!add_function_ranges(unit, die))
        return;
    if (!HS_ARRAY_HAS_ROOM(unit->functions, unit->function_count, unit->function_capacity))
        return;
    unit->functions[unit->function_count++] = *die;
}

static void index_functions(struct dwarf_frames_unit *unit, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST_SCOPE || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_function(unit, &die);
        if (may_hold_functions(tag))
            index_functions(unit, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static struct dwarf_frames_unit *unit_at(struct hs_dwarf *self, uint64_t address)
{
    if (!self->indexed)
        index_units(self);
    const struct dwarf_frames_range *range = find_range(&self->ranges, address);
    if (!range)
        return NULL;
    struct dwarf_frames_unit *unit = &self->units[range->index];
    if (!unit->indexed) {
        unit->indexed = true;
        if (self->package && unit->id)
            open_split(self, unit);
        index_functions(unit, &unit->tree, 0);
        sort_ranges(&unit->ranges);
    }
    return unit;
}

// ---- frames --------------------------------------------------------------------------------------------------------

static bool is_scope(int tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static bool covers(struct dwarf_frames_unit *unit, Dwarf_Die *die, uint64_t address)
{
    return unit->split ? hs_split__covers(unit->split, die, address) : dwarf_haspc(die, address) > 0;
}

static bool is_empty(struct dwarf_frames_unit *unit, Dwarf_Die *die)
{
    struct hs_range_walk walk = {0};
    Dwarf_Addr base, low, high;
    return unit->split ? !hs_split__next_range(unit->split, die, &walk, &low, &high)
                       : dwarf_ranges(die, 0, &base, &low, &high) <= 0;
}

// A list that begins with an empty range where the unit begins looks as if it ended there (GCC, DWARF 4): what is
// within such a block speaks for itself.
static bool child_scope_at(struct dwarf_frames_unit *unit, Dwarf_Die *parent, uint64_t address, Dwarf_Die *scope,
                           unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST_SCOPE || dwarf_child(parent, &die) != 0)
        return false;
    do {
        int tag = dwarf_tag(&die);
        if (is_scope(tag) && covers(unit, &die, address)) {
            *scope = die;
            return true;
        }
        if (tag == DW_TAG_lexical_block && is_empty(unit, &die) &&
            child_scope_at(unit, &die, address, scope, depth + 1))
            return true;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

// The function and the calls inlined into it at `address`, outermost first.
static uint32_t inline_chain(struct dwarf_frames_unit *unit, Dwarf_Die function, uint64_t address, Dwarf_Die *chain,
                             uint32_t most)
{
    uint32_t count = 0;
    Dwarf_Die scope = function;
    chain[count++] = function;
    for (unsigned depth = 0; depth < DEEPEST_SCOPE && child_scope_at(unit, &scope, address, &scope, 0); depth++) {
        if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine && count < most)
            chain[count++] = scope;
    }
    return count;
}

static const char *function_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_name, &attribute))
        return dwarf_formstring(&attribute);
    return NULL;
}

static Dwarf_Word call_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(die, name, &attribute))
        dwarf_formudata(&attribute, &value);
    return value;
}

static void call_site(Dwarf_Die *inlined, struct dwarf_frames_unit *unit, struct hs_dwarf_frame *frame)
{
    Dwarf_Files *files;
    size_t count;
    frame->line = (uint32_t)call_number(inlined, DW_AT_call_line);
    Dwarf_Word file = call_number(inlined, DW_AT_call_file);
    bool known =
        dwarf_getsrcfiles(&unit->tree, &files, &count) == 0 || dwarf_getsrcfiles(&unit->die, &files, &count) == 0;
    frame->file = known && file < count ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
}

// libdw's own function for this gives up the program where a unit is split.
static const char *declaration(Dwarf_Die *die, struct dwarf_frames_unit *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0;
    Dwarf_Die of;
    Dwarf_Files *files;
    size_t count;
    if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &file) != 0 ||
        !dwarf_cu_die(attribute.cu, &of, NULL, NULL, NULL, NULL, NULL, NULL))
        return NULL;
    bool known = dwarf_getsrcfiles(&of, &files, &count) == 0 || dwarf_getsrcfiles(&unit->tree, &files, &count) == 0 ||
                 dwarf_getsrcfiles(&unit->die, &files, &count) == 0;
    return known && file && file < count ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
}

static void line_of(struct dwarf_frames_unit *unit, uint64_t address, struct hs_dwarf_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
    int number = 0;
    if (!line)
        return;
    frame->file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
}

static const char *unit_directory(struct dwarf_frames_unit *unit)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

uint32_t hs_dwarf__frames(struct hs_dwarf *self, uint64_t address, struct hs_dwarf_frame *frames)
{
    struct dwarf_frames_unit *unit = unit_at(self, address);
    if (!unit)
        return 0;
    memset(frames, 0, sizeof(*frames));
    frames[0].directory = unit_directory(unit);
    line_of(unit, address, &frames[0]);
    const struct dwarf_frames_range *range = find_range(&unit->ranges, address);
    if (!range || range->index >= unit->function_count)
        return frames[0].file ? 1 : 0;
    Dwarf_Die chain[HS_DWARF_MOST_FRAMES];
    uint32_t count = inline_chain(unit, unit->functions[range->index], address, chain, HS_DWARF_MOST_FRAMES);
    for (uint32_t i = 0; i < count; i++) {
        Dwarf_Die *die = &chain[count - 1 - i];
        frames[i].function = function_name(die);
        frames[i].declared = declaration(die, unit);
        frames[i].source = HS_NAME_GIVEN;
        frames[i].directory = frames[0].directory;
        if (i + 1 < count)
            call_site(die, unit, &frames[i + 1]);
    }
    return count;
}
