// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// How far to look back for a symbol that covers an address although a later one starts before it.
#define NESTED_SYMBOLS 16

// ---- strings -------------------------------------------------------------------------------------------------------
//
// libdwfl gives names that may run out of a damaged string table: without a zero at the end of each table of a file,
// none of its names is used.

static bool ends_with_zero(const Elf_Data *data)
{
    const char *bytes = data ? data->d_buf : NULL;
    return !data || !data->d_size || (bytes && !bytes[data->d_size - 1]);
}

static bool sections_end(Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header))
            return false;
        if (header.sh_type == SHT_STRTAB && !ends_with_zero(elf_rawdata(section, NULL)))
            return false;
    }
    return true;
}

// Where an address lies in the file; UINT64_MAX: nowhere.
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

static bool dynamic_strings_end(Elf *elf, size_t segments, const GElf_Phdr *dynamic)
{
    uint64_t address = 0;
    uint64_t size = 0;
    GElf_Dyn entry;
    Elf_Data *entries = elf_getdata_rawchunk(elf, (int64_t)dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
    for (int i = 0; entries && gelf_getdyn(entries, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if (entry.d_tag == DT_STRTAB)
            address = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            size = entry.d_un.d_val;
    }
    uint64_t offset = offset_of(elf, segments, address);
    if (!size || offset == UINT64_MAX)
        return true;
    return ends_with_zero(elf_getdata_rawchunk(elf, (int64_t)offset, size, ELF_T_BYTE));
}

static bool strings_end(Elf *elf)
{
    size_t segments = 0;
    GElf_Phdr segment;
    if (!elf || !sections_end(elf))
        return false;
    // Without sections of symbols that it can use libdwfl goes by the dynamic segment.
    if (elf_getphdrnum(elf, &segments))
        return true;
    for (size_t i = 0; i < segments; i++) {
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_DYNAMIC &&
            !dynamic_strings_end(elf, segments, &segment))
            return false;
    }
    return true;
}

// A module's symbols come from up to three files: its own, the one with debug information, the embedded small one.
struct checked_files {
    Elf *elf[4];
    bool good[4];
    unsigned count;
};

static bool are_strings_good(struct checked_files *files, Elf *elf)
{
    for (unsigned i = 0; i < files->count; i++) {
        if (files->elf[i] == elf)
            return files->good[i];
    }
    bool good = strings_end(elf);
    if (files->count < 4) {
        files->elf[files->count] = elf;
        files->good[files->count++] = good;
    }
    return good;
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

static bool read_symbol(Dwfl_Module *module, int index, bool thumb, struct checked_files *files, struct hs_symbol *out)
{
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    Elf *elf = NULL;
    Dwarf_Addr bias = 0;
    const char *name = dwfl_module_getsym_info(module, index, &symbol, &address, &section, &elf, &bias);
    if (!name || !is_function(&symbol, section) || !are_strings_good(files, elf) || !*name)
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

static bool is_thumb_machine(Dwfl_Module *module)
{
    Dwarf_Addr bias;
    GElf_Ehdr header;
    Elf *elf = dwfl_module_getelf(module, &bias);
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
    bool thumb = is_thumb_machine(module);
    struct checked_files files = {0};
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
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 1; back <= NESTED_SYMBOLS && back <= low; back++) {
        const struct hs_symbol *symbol = &table->symbols[low - back];
        if (address < symbol->end)
            return symbol->name;
    }
    return NULL;
}
