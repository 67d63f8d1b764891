// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 << 20 };

#if defined(__mips64) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
// The symbol, and bytes in the order of those of larger numbers.
#define RELOCATION_TYPE(info)   __builtin_bswap32((uint32_t)((info) >> 32))
#define RELOCATION_SYMBOL(info) (uint32_t)(info)
#elif UINTPTR_MAX > 0xffffffff
#define RELOCATION_TYPE   ELF64_R_TYPE
#define RELOCATION_SYMBOL ELF64_R_SYM
#else
#define RELOCATION_TYPE   ELF32_R_TYPE
#define RELOCATION_SYMBOL ELF32_R_SYM
#endif

static size_t below_page(uint64_t offset)
{
    return (size_t)(offset & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1));
}

static size_t to_page(uint64_t size)
{
    return below_page(size + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static bool measure(struct hs_inject_image *image)
{
    image->writable_at = SIZE_MAX;
    for (size_t i = 0; i < image->file.segment_count; i++) {
        const ElfW(Phdr) *segment = &image->file.segments[i];
        if (segment->p_type != PT_LOAD)
            continue;
        if (segment->p_vaddr > MOST || segment->p_memsz > MOST || segment->p_filesz > segment->p_memsz ||
            !hs_elf_file__at(&image->file, segment->p_offset, segment->p_filesz))
            return false;
        if (segment->p_flags & PF_W && segment->p_vaddr < image->writable_at)
            image->writable_at = below_page(segment->p_vaddr);
        if (to_page(segment->p_vaddr + segment->p_memsz) > image->size)
            image->size = to_page(segment->p_vaddr + segment->p_memsz);
    }
    return image->size && image->writable_at < image->size;
}

int hs_inject_image__open(struct hs_inject_image *image, const char *path, uint16_t machine, struct hs_error *error)
{
    *image = (struct hs_inject_image){0};
    int failed = hs_elf_file__open(&image->file, path, machine);
    if (failed)
        return hs_error__set(error, -failed, "%s: %s", path, strerror(-failed));
    image->bytes = measure(image) ? calloc(1, image->size) : NULL;
    if (image->bytes)
        return 0;
    hs_inject_image__close(image);
    return hs_error__set(error, ENOEXEC, "%s: not a recording library of this machine", path);
}

void hs_inject_image__close(struct hs_inject_image *image)
{
    hs_elf_file__close(&image->file);
    free(image->bytes);
    *image = (struct hs_inject_image){0};
}

static void load(struct hs_inject_image *image)
{
    memset(image->bytes, 0, image->size);
    for (size_t i = 0; i < image->file.segment_count; i++) {
        const ElfW(Phdr) *segment = &image->file.segments[i];
        if (segment->p_type == PT_LOAD)
            memcpy(image->bytes + segment->p_vaddr, image->file.bytes + segment->p_offset, segment->p_filesz);
    }
}

static void *at(const struct hs_inject_image *image, uint64_t offset, size_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

void *hs_inject_image__at(const struct hs_inject_image *image, uint64_t address, size_t size)
{
    return at(image, address - image->base, size);
}

static const ElfW(Sym) * exported(const struct hs_inject_image *image, const char *name)
{
    struct hs_elf_symbols symbols;
    if (!hs_elf_file__symbols(&image->file, SHT_DYNSYM, &symbols))
        return NULL;
    for (size_t i = 0; i < symbols.count; i++)
        if (symbols.symbols[i].st_shndx != SHN_UNDEF && !strcmp(hs_elf_symbols__name(&symbols, i), name))
            return &symbols.symbols[i];
    return NULL;
}

uint64_t hs_inject_image__function(const struct hs_inject_image *image, const char *name)
{
    const ElfW(Sym) *symbol = exported(image, name);
    return symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ? image->base + symbol->st_value : 0;
}

struct hs_attach_table *hs_inject_image__table(const struct hs_inject_image *image)
{
    return hs_inject_image__at(image, image->table, sizeof(struct hs_attach_table));
}

// ---- relocation ----------------------------------------------------------------------------------------------------

struct relocating {
    struct hs_inject_image *image;
    const struct hs_inject_arch *arch;
    int64_t thread_offset;
    hs_inject_import *import;
    void *context;
    struct hs_elf_symbols symbols;
};

static bool is_symbolic(const struct hs_inject_arch *arch, uint32_t type)
{
    return type == arch->symbol[0] || type == arch->symbol[1] || type == arch->symbol[2];
}

static uint64_t symbol_value(const struct relocating *relocating, uint32_t index)
{
    if (index >= relocating->symbols.count)
        return 0;
    const ElfW(Sym) *symbol = &relocating->symbols.symbols[index];
    if (symbol->st_shndx != SHN_UNDEF)
        return relocating->image->base + symbol->st_value;
    return relocating->import(relocating->context, hs_elf_symbols__name(&relocating->symbols, index));
}

// Without an addend in the table it is where the value will be, but in a slot for calls.
static uint64_t addend_of(const struct relocating *relocating, const ElfW(Rela) * entry, bool has_addend,
                          uintptr_t word)
{
    if (has_addend)
        return (uint64_t)entry->r_addend;
    return RELOCATION_TYPE(entry->r_info) == relocating->arch->symbol[1] ? 0 : word;
}

static bool relocate_one(const struct relocating *relocating, const ElfW(Rela) * entry, bool has_addend)
{
    struct hs_inject_image *image = relocating->image;
    uint32_t type = (uint32_t)RELOCATION_TYPE(entry->r_info), symbol = (uint32_t)RELOCATION_SYMBOL(entry->r_info);
    uintptr_t *word = at(image, entry->r_offset, sizeof *word);
    if (!type)
        return true;
    if (!word)
        return false;
    uint64_t value = addend_of(relocating, entry, has_addend, *word);
    if (type == relocating->arch->relative && !symbol) {
        value += image->base;
    } else if (type == relocating->arch->thread_offset) {
        if (image->thread_entry_count == sizeof image->thread_entries / sizeof *image->thread_entries)
            return false;
        image->thread_entries[image->thread_entry_count++] = (size_t)entry->r_offset;
        value += (uint64_t)relocating->thread_offset;
    } else if (is_symbolic(relocating->arch, type)) {
        value += symbol_value(relocating, symbol);
    } else {
        return false;
    }
    *word = (uintptr_t)value;
    return true;
}

static const ElfW(Dyn) * dynamic_section(const struct hs_inject_image *image, size_t *count)
{
    for (size_t i = 0; i < image->file.segment_count; i++)
        if (image->file.segments[i].p_type == PT_DYNAMIC) {
            *count = image->file.segments[i].p_filesz / sizeof(ElfW(Dyn));
            return at(image, image->file.segments[i].p_vaddr, image->file.segments[i].p_filesz);
        }
    return NULL;
}

static uint64_t dynamic_value(const struct hs_inject_image *image, int64_t tag)
{
    size_t count = 0;
    const ElfW(Dyn) *entry = dynamic_section(image, &count);
    for (size_t i = 0; entry && i < count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == tag)
            return entry[i].d_un.d_val;
    return 0;
}

static bool relocate_table(const struct relocating *relocating, int64_t start, int64_t size, bool has_addends)
{
    size_t length = (size_t)dynamic_value(relocating->image, size);
    size_t each = has_addends ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    const uint8_t *entries = at(relocating->image, dynamic_value(relocating->image, start), length);
    bool good = entries != NULL;
    for (size_t i = 0; good && i < length / each; i++) {
        ElfW(Rela) entry = {0};
        memcpy(&entry, entries + i * each, each);
        good = relocate_one(relocating, &entry, has_addends);
    }
    return good;
}

// On MIPS, slots of the library's own addresses and of its last symbols' are in no table.
static bool relocate_slots(const struct relocating *relocating)
{
    struct hs_inject_image *image = relocating->image;
    const uint64_t first = dynamic_value(image, DT_MIPS_GOTSYM), end = dynamic_value(image, DT_MIPS_SYMTABNO);
    const uint64_t own = dynamic_value(image, DT_MIPS_LOCAL_GOTNO);
    const bool is_sound = own <= image->size && first <= end && end <= relocating->symbols.count;
    const uint64_t count = is_sound ? own + end - first : 0;
    uintptr_t *slots = at(image, dynamic_value(image, DT_PLTGOT), sizeof *slots * count);
    if (!is_sound || !slots)
        return false;
    for (uint64_t i = (intptr_t)slots[1] < 0 ? 2 : 1; i < own; i++) // before: what a dynamic linker needs
        slots[i] += image->base;
    for (uint64_t i = own; i < count; i++)
        slots[i] = (uintptr_t)symbol_value(relocating, (uint32_t)(first + i - own));
    return true;
}

static bool relocate_tables(const struct relocating *relocating)
{
    if (relocating->arch->machine == EM_MIPS && !relocate_slots(relocating))
        return false;
    return relocate_table(relocating, DT_RELA, DT_RELASZ, true) &&
           relocate_table(relocating, DT_REL, DT_RELSZ, false) &&
           relocate_table(relocating, DT_JMPREL, DT_PLTRELSZ, dynamic_value(relocating->image, DT_PLTREL) == DT_RELA);
}

int hs_inject_image__relocate(struct hs_inject_image *image, const struct hs_inject_arch *arch, uint64_t base,
                              int64_t thread_offset, hs_inject_import *import, void *context, struct hs_error *error)
{
    struct relocating relocating = {image, arch, thread_offset, import, context, {0}};
    const ElfW(Sym) *table = exported(image, HS_ATTACH_SYMBOL);
    image->base = base;
    image->thread_entry_count = 0;
    load(image);
    image->table = table ? base + table->st_value : 0;
    if (table && hs_inject_image__table(image) && hs_inject_image__table(image)->magic == HS_ATTACH_MAGIC &&
        hs_elf_file__symbols(&image->file, SHT_DYNSYM, &relocating.symbols) && relocate_tables(&relocating))
        return 0;
    return hs_error__set(error, ENOEXEC, "the recording library is of another version than this command");
}
