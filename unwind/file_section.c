// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Headers are copied: nothing in a damaged file is aligned. A symbol table that is not is no symbol table.
#include "unwind/file_section.h"

#include <elf.h>
#include <link.h>

#if __SIZEOF_POINTER__ == 8
#define NATIVE_CLASS ELFCLASS64
#else
#define NATIVE_CLASS ELFCLASS32
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct sections {
    struct hs_range file;
    uint64_t offset; // of the headers
    size_t count;
    size_t names; // number of the section with the names
};

static size_t range_size(struct hs_range range)
{
    return (size_t)(range.end - range.start);
}

static bool in_range(struct hs_range range, uint64_t offset, uint64_t length)
{
    return offset <= range_size(range) && length <= range_size(range) - offset;
}

static bool open_sections(struct hs_range file, struct sections *sections)
{
    ElfW(Ehdr) header;
    if (range_size(file) < sizeof header)
        return false;
    __builtin_memcpy(&header, file.start, sizeof header);
    const unsigned char *ident = header.e_ident;
    if (ident[0] != 0x7f || ident[1] != 'E' || ident[2] != 'L' || ident[3] != 'F' || ident[EI_CLASS] != NATIVE_CLASS ||
        ident[EI_DATA] != NATIVE_DATA || header.e_shentsize != sizeof(ElfW(Shdr)))
        return false;
    *sections = (struct sections){file, header.e_shoff, header.e_shnum, header.e_shstrndx};
    return true;
}

static bool read_section(const struct sections *sections, size_t index, ElfW(Shdr) * section)
{
    uint64_t offset = index * sizeof *section;
    if (index >= sections->count || sections->offset > range_size(sections->file) ||
        !in_range(sections->file, sections->offset + offset, sizeof *section))
        return false;
    __builtin_memcpy(section, sections->file.start + sections->offset + offset, sizeof *section);
    return true;
}

static bool section_bytes(const struct sections *sections, const ElfW(Shdr) * section, struct hs_range *bytes)
{
    if (section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED ||
        !in_range(sections->file, section->sh_offset, section->sh_size))
        return false;
    bytes->start = sections->file.start + section->sh_offset;
    bytes->end = bytes->start + section->sh_size;
    return true;
}

static bool is_named(struct hs_range names, size_t at, const char *wanted)
{
    for (; at < range_size(names); at++, wanted++) {
        if (names.start[at] != (uint8_t)*wanted)
            return false;
        if (!*wanted)
            return true;
    }
    return false;
}

static void describe(const ElfW(Shdr) * section, struct hs_file_section *result)
{
    result->loaded = section->sh_flags & SHF_ALLOC;
    result->address = result->loaded ? section->sh_addr : 0;
}

bool hs_file_section(struct hs_range file, const char *name, struct hs_file_section *result)
{
    struct sections sections;
    struct hs_range names;
    ElfW(Shdr) section;
    if (!open_sections(file, &sections) || !read_section(&sections, sections.names, &section) ||
        section.sh_type != SHT_STRTAB || !section_bytes(&sections, &section, &names))
        return false;
    for (size_t i = 0; i < sections.count; i++) {
        if (!read_section(&sections, i, &section) || !is_named(names, section.sh_name, name) ||
            !section_bytes(&sections, &section, &result->bytes))
            continue;
        describe(&section, result);
        return true;
    }
    return false;
}

bool hs_file_code_section(struct hs_range file, size_t *number, struct hs_file_section *result)
{
    struct sections sections;
    ElfW(Shdr) section;
    if (!open_sections(file, &sections))
        return false;
    while (*number < sections.count) {
        if (!read_section(&sections, (*number)++, &section) || !(section.sh_flags & SHF_ALLOC) ||
            !(section.sh_flags & SHF_EXECINSTR) || !section_bytes(&sections, &section, &result->bytes))
            continue;
        describe(&section, result);
        return true;
    }
    return false;
}

bool hs_file_symbols(struct hs_range file, struct hs_file_symbols *symbols)
{
    struct sections sections;
    ElfW(Shdr) section;
    struct hs_range bytes;
    bool found = false;
    if (!open_sections(file, &sections))
        return false;
    for (size_t i = 0; i < sections.count; i++) {
        if (!read_section(&sections, i, &section) || section.sh_entsize != sizeof(ElfW(Sym)) ||
            (section.sh_type != SHT_SYMTAB && (found || section.sh_type != SHT_DYNSYM)) ||
            !section_bytes(&sections, &section, &bytes) || (uintptr_t)bytes.start % sizeof(ElfW(Addr)))
            continue;
        *symbols = (struct hs_file_symbols){.bytes = bytes, .names_section = section.sh_link};
        found = true;
        if (section.sh_type == SHT_SYMTAB)
            break;
    }
    return found;
}

void hs_file_symbols_with_names(struct hs_range file, struct hs_file_symbols *symbols)
{
    struct sections sections;
    ElfW(Shdr) section;
    struct hs_range names;
    if (open_sections(file, &sections) && read_section(&sections, symbols->names_section, &section) &&
        section.sh_type == SHT_STRTAB && section_bytes(&sections, &section, &names) && range_size(names) &&
        names.end[-1] == 0)
        symbols->names = names;
}

bool hs_file_symbols_next(struct hs_file_symbols *symbols, struct hs_file_function *function)
{
    while (range_size(symbols->bytes) >= sizeof(ElfW(Sym))) {
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)symbols->bytes.start;
        symbols->bytes.start += sizeof *symbol;
        unsigned type = symbol->st_info & 0xf;
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF)
            continue;
        bool named = symbol->st_name < range_size(symbols->names);
        *function = (struct hs_file_function){symbol->st_value, symbol->st_size,
                                              named ? (const char *)symbols->names.start + symbol->st_name : NULL};
        return true;
    }
    return false;
}
