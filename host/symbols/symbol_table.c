// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/symbol_table.h"

#include "host/base/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// How far to look back for a symbol that covers an address although a later one starts before it.
#define NESTED_SYMBOLS 16

// ---- strings -------------------------------------------------------------------------------------------------------
//
// libdwfl gives names that may run out of a damaged string table. A name is used only when it is known to lie in one,
// and to end there.

struct bytes {
    const char *start;
    const char *end;
};

#define MOST_TABLES 16

struct string_tables {
    Elf *elf;
    struct bytes table[MOST_TABLES];
    unsigned count;
};

// A module's symbols come from up to three files: its own, the one with debug information, the embedded small one.
struct files {
    struct string_tables file[4];
    unsigned count;
};

static void add_table(struct string_tables *tables, const Elf_Data *data)
{
    const char *start = data ? data->d_buf : NULL;
    if (start && tables->count < MOST_TABLES)
        tables->table[tables->count++] = (struct bytes){start, start + data->d_size};
}

static void add_sections(struct string_tables *tables)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(tables->elf, section))) {
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_STRTAB)
            add_table(tables, elf_getdata(section, NULL));
    }
}

// The offset of an address in the file; UINT64_MAX: not in the file.
static uint64_t offset_of(Elf *elf, size_t segments, uint64_t address)
{
    GElf_Phdr segment;
    for (size_t i = 0; i < segments; i++) {
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return UINT64_MAX;
}

// libelf caches such a part of a file and returns the same bytes to every caller, also to libdwfl.
static void add_dynamic(struct string_tables *tables, size_t segments, const GElf_Phdr *dynamic)
{
    uint64_t address = 0;
    uint64_t size = 0;
    GElf_Dyn entry;
    Elf_Data *entries = elf_getdata_rawchunk(tables->elf, (int64_t)dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
    for (int i = 0; entries && gelf_getdyn(entries, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if (entry.d_tag == DT_STRTAB)
            address = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            size = entry.d_un.d_val;
    }
    uint64_t offset = offset_of(tables->elf, segments, address);
    if (size && offset != UINT64_MAX)
        add_table(tables, elf_getdata_rawchunk(tables->elf, (int64_t)offset, size, ELF_T_BYTE));
}

static void find_tables(struct string_tables *tables, Elf *elf)
{
    size_t segments = 0;
    GElf_Phdr segment;
    *tables = (struct string_tables){.elf = elf};
    add_sections(tables);
    if (elf_getphdrnum(elf, &segments))
        return;
    // Without sections of symbols libdwfl goes by the dynamic segment.
    for (size_t i = 0; i < segments; i++) {
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_DYNAMIC)
            add_dynamic(tables, segments, &segment);
    }
}

static bool ends_in_table(struct files *files, Elf *elf, const char *name)
{
    struct string_tables *tables = files->file;
    while (tables < files->file + files->count && tables->elf != elf)
        tables++;
    if (!elf || tables == files->file + 4)
        return false;
    if (tables == files->file + files->count) {
        find_tables(tables, elf);
        files->count++;
    }
    for (unsigned i = 0; i < tables->count; i++) {
        const struct bytes *table = &tables->table[i];
        if (name >= table->start && name < table->end && memchr(name, 0, (size_t)(table->end - name)))
            return true;
    }
    return false;
}

// ---- symbols -------------------------------------------------------------------------------------------------------

static uint8_t rank_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
        return 0;
    case STB_WEAK:
        return 1;
    default:
        return 2;
    }
}

static bool is_function(const GElf_Sym *symbol, GElf_Word section)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && section != SHN_UNDEF && section != SHN_ABS;
}

static uint64_t section_end(Elf *elf, GElf_Word section, uint64_t bias)
{
    GElf_Shdr header;
    Elf_Scn *scn = elf ? elf_getscn(elf, section) : NULL;
    if (!scn || !gelf_getshdr(scn, &header))
        return UINT64_MAX;
    return header.sh_addr + header.sh_size + bias;
}

static bool read_symbol(Dwfl_Module *module, int index, bool thumb, struct files *files, struct hs_symbol *out)
{
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    Elf *elf = NULL;
    Dwarf_Addr bias = 0;
    const char *name = dwfl_module_getsym_info(module, index, &symbol, &address, &section, &elf, &bias);
    if (!name || !is_function(&symbol, section) || !ends_in_table(files, elf, name) || !*name)
        return false;
    out->start = thumb ? address & ~(uint64_t)1 : address;
    out->end = symbol.st_size ? out->start + symbol.st_size : section_end(elf, section, bias);
    out->name = name;
    // A symbol without a size (hand-written assembly) reaches to the next one; anything sized is better.
    out->rank = (uint8_t)(rank_of(&symbol) + (symbol.st_size ? 0 : 8));
    return out->end > out->start;
}

static int compare(const void *left, const void *right)
{
    const struct hs_symbol *a = left;
    const struct hs_symbol *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    // The better symbol comes last: a search from above meets it first.
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return strcmp(b->name, a->name);
}

static void end_unsized_at_next(struct hs_symbol_table *table)
{
    for (size_t i = 0; i + 1 < table->count; i++) {
        struct hs_symbol *symbol = &table->symbols[i];
        uint64_t next = table->symbols[i + 1].start;
        if (symbol->rank >= 8 && next > symbol->start && next < symbol->end)
            symbol->end = next;
    }
}

static bool is_thumb_machine(Elf *elf)
{
    GElf_Ehdr header;
    return elf && gelf_getehdr(elf, &header) && header.e_machine == EM_ARM;
}

int hs_symbol_table__load(struct hs_symbol_table *table, Dwfl_Module *module)
{
    memset(table, 0, sizeof(*table));
    int count = dwfl_module_getsymtab(module);
    if (count <= 0)
        return 0;
    table->symbols = malloc((size_t)count * sizeof(*table->symbols));
    if (!table->symbols)
        return -ENOMEM;
    Dwarf_Addr bias;
    table->file = dwfl_module_getelf(module, &bias);
    bool thumb = is_thumb_machine(table->file);
    struct files files = {0};
    for (int i = 0; i < count; i++) {
        if (read_symbol(module, i, thumb, &files, &table->symbols[table->count]))
            table->count++;
    }
    qsort(table->symbols, table->count, sizeof(*table->symbols), compare);
    end_unsized_at_next(table);
    return 0;
}

void hs_symbol_table__free(struct hs_symbol_table *table)
{
    free(table->symbols);
    memset(table, 0, sizeof(*table));
}

const char *hs_symbol_table__find(const struct hs_symbol_table *table, uint64_t address)
{
    size_t low = HS_SEARCH(table->count, i, table->symbols[i].start <= address);
    for (size_t back = 1; back <= NESTED_SYMBOLS && back <= low; back++) {
        const struct hs_symbol *symbol = &table->symbols[low - back];
        if (address < symbol->end)
            return symbol->name;
    }
    return NULL;
}

// ---- versions ------------------------------------------------------------------------------------------------------

// Also where the section's contents, and so its type, went with the code.
static bool are_stripped_versions(Elf *elf, const GElf_Shdr *header)
{
    size_t names = 0;
    const char *name = elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, header->sh_name);
    return header->sh_type == SHT_NOBITS && name && !strcmp(name, ".gnu.version_d");
}

static bool defines(Elf *elf, Elf_Data *data, const GElf_Shdr *header, const char *version)
{
    GElf_Verdef definition;
    GElf_Verdaux name;
    size_t at = 0;
    // Each definition has a size, so this ends.
    while (data && at < INT32_MAX && gelf_getverdef(data, (int)at, &definition)) {
        size_t first = at + definition.vd_aux;
        const char *found = first < INT32_MAX && gelf_getverdaux(data, (int)first, &name)
                                ? elf_strptr(elf, header->sh_link, name.vda_name)
                                : NULL;
        if (found && !strcmp(found, version))
            return true;
        if (definition.vd_next < sizeof(Elf32_Verdef))
            return false;
        at += definition.vd_next;
    }
    return false;
}

bool hs_symbol_table__is_versioned(const struct hs_symbol_table *table, const char *name)
{
    const char *at = name ? strrchr(name, '@') : NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while (at && at[1] && table->file && (section = elf_nextscn(table->file, section))) {
        if (!gelf_getshdr(section, &header))
            continue;
        if (are_stripped_versions(table->file, &header) ||
            (header.sh_type == SHT_GNU_verdef && defines(table->file, elf_getdata(section, NULL), &header, at + 1)))
            return true;
    }
    return false;
}
