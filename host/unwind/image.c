// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Memory is reserved for what the headers claim and filled with what the file has; images of 32-bit machines lie low,
// so that their addresses here have 32 bits, too.
#include "host/unwind/image.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE      UINT64_C(4096)
#define SPAN_MAX  (UINT64_C(4) << 30)
#define LOW_START UINT64_C(0x10000000)
#define LOW_END   UINT64_C(0x70000000)

enum { SECTIONS_MAX = 4096, SYMBOLS_MAX = 1 << 24 };

// ---- memory --------------------------------------------------------------------------------------------------------

static void *reserve_low(size_t size)
{
    for (uint64_t at = LOW_START; at < LOW_END && size <= LOW_END - at; at += UINT64_C(1) << 20) {
        void *memory = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (memory == (void *)(uintptr_t)at)
            return memory;
        if (memory != MAP_FAILED) // an old kernel took it for a hint
            munmap(memory, size);
    }
    return MAP_FAILED;
}

static bool reserve(struct hs_image *image, bool low)
{
    void *memory =
        low ? reserve_low(image->span)
            : mmap(NULL, image->span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    image->memory = memory == MAP_FAILED ? NULL : memory;
    return image->memory != NULL;
}

static bool fill(struct hs_image *image)
{
    for (size_t i = 0; i < image->load_count; i++) {
        struct hs_image_load *load = &image->loads[i];
        uint64_t done = 0;
        while (done < load->filled) {
            ssize_t got = pread(image->fd[0], image->memory + (load->address - image->base) + done,
                                (size_t)(load->filled - done), (off_t)(load->offset + done));
            if (got <= 0)
                break;
            done += (uint64_t)got;
        }
        load->filled = done;
    }
    return image->load_count && image->loads[0].filled;
}

// ---- headers -------------------------------------------------------------------------------------------------------

static bool is_of(const struct hs_image_kind *kind, Elf *elf)
{
    GElf_Ehdr header;
    return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) && header.e_machine == kind->machine &&
           (gelf_getclass(elf) == ELFCLASS64 ? 8 : 4) == kind->pointer_size &&
           (header.e_ident[EI_DATA] == ELFDATA2MSB) == kind->big_endian;
}

static void add_load(struct hs_image *image, const GElf_Phdr *header, uint64_t *end)
{
    if (image->load_count == HS_IMAGE_LOADS || !header->p_memsz || header->p_vaddr > UINT64_MAX - header->p_memsz ||
        header->p_filesz > header->p_memsz || (image->load_count && header->p_vaddr < image->base))
        return;
    if (!image->load_count)
        image->base = header->p_vaddr & ~(PAGE - 1);
    if (header->p_vaddr + header->p_memsz - image->base > SPAN_MAX)
        return;
    image->loads[image->load_count++] = (struct hs_image_load){.address = header->p_vaddr,
                                                               .size = header->p_memsz,
                                                               .filled = header->p_filesz,
                                                               .offset = header->p_offset,
                                                               .writable = header->p_flags & PF_W,
                                                               .executable = header->p_flags & PF_X};
    if (header->p_vaddr + header->p_memsz > *end)
        *end = header->p_vaddr + header->p_memsz;
}

static bool in_image(const struct hs_image *image, uint64_t address, uint64_t size)
{
    return address >= image->base && address - image->base <= image->span &&
           size <= image->span - (address - image->base);
}

static bool read_headers(struct hs_image *image)
{
    GElf_Ehdr header;
    GElf_Phdr program;
    size_t count = 0;
    uint64_t end = 0;
    if (!gelf_getehdr(image->elf[0], &header) || elf_getphdrnum(image->elf[0], &count))
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(image->elf[0], (int)i, &program); i++)
        if (program.p_type == PT_LOAD)
            add_load(image, &program, &end);
    image->span = (size_t)((end - image->base + PAGE - 1) & ~(PAGE - 1));
    if (!image->load_count)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(image->elf[0], (int)i, &program); i++) {
        if (!in_image(image, program.p_vaddr, program.p_memsz))
            continue;
        if (program.p_type == PT_GNU_EH_FRAME)
            image->eh_frame_hdr = program.p_vaddr;
        if (program.p_type == PT_ARM_EXIDX && header.e_machine == EM_ARM) {
            image->exidx = program.p_vaddr;
            image->exidx_size = program.p_memsz;
        }
    }
    image->entry = in_image(image, header.e_entry, 1) ? header.e_entry : 0;
    return true;
}

// ---- sections ------------------------------------------------------------------------------------------------------

static bool is_text_there(const struct hs_image *image)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].code && image->sections[i].loaded)
            return true;
    return !image->section_count; // without section headers nothing speaks against it
}

static void add_sections(struct hs_image *image, Elf *elf, bool is_debug)
{
    Elf_Scn *section = NULL;
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return;
    while ((section = elf_nextscn(elf, section)) && image->section_count < 2 * SECTIONS_MAX) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || header.sh_type == SHT_NOBITS || (is_debug && header.sh_flags & SHF_ALLOC))
            continue;
        bool loaded = header.sh_flags & SHF_ALLOC;
        struct hs_image_section *added = &image->sections[image->section_count++];
        *added = (struct hs_image_section){.name = name,
                                           .address = loaded ? header.sh_addr : 0,
                                           .loaded = loaded,
                                           .code = header.sh_flags & SHF_EXECINSTR,
                                           .section = section};
        if (loaded && in_image(image, header.sh_addr, header.sh_size)) {
            added->bytes = image->memory + (header.sh_addr - image->base);
            added->size = (size_t)header.sh_size;
        }
    }
}

bool hs_image__section_bytes(struct hs_image_section *section)
{
    GElf_Shdr header;
    if (section->bytes || section->loaded || !gelf_getshdr(section->section, &header))
        return section->bytes != NULL;
    if (header.sh_flags & SHF_COMPRESSED)
        elf_compress(section->section, 0, 0);
    Elf_Data *data = elf_rawdata(section->section, NULL);
    if (header.sh_flags & SHF_COMPRESSED)
        data = elf_getdata(section->section, NULL);
    if (!data || !data->d_buf)
        return false;
    section->bytes = data->d_buf;
    section->size = data->d_size;
    return true;
}

// ---- symbols -------------------------------------------------------------------------------------------------------

static Elf_Scn *symbol_section(Elf *elf, uint32_t type, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while (elf && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == type && header->sh_entsize)
            return section;
    return NULL;
}

static bool read_symbols(struct hs_image *image, Elf *elf, uint32_t type)
{
    GElf_Shdr header;
    Elf_Scn *section = symbol_section(elf, type, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    Elf_Scn *strings = data ? elf_getscn(elf, header.sh_link) : NULL;
    Elf_Data *names = strings ? elf_rawdata(strings, NULL) : NULL;
    size_t count = data ? data->d_size / header.sh_entsize : 0;
    if (!count || count > SYMBOLS_MAX || !(image->symbols = malloc(count * sizeof *image->symbols)))
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol))
            image->symbols[image->symbol_count++] = symbol;
    }
    if (names && names->d_size && !((const char *)names->d_buf)[names->d_size - 1]) {
        image->names = names->d_buf;
        image->names_size = names->d_size;
    }
    return true;
}

// ---- relocations ---------------------------------------------------------------------------------------------------

// Where pointers are in the relocations and not in place, they are put there.
static void relocate(struct hs_image *image, uint16_t machine)
{
    const uint64_t relative = machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
    Elf_Scn *section = NULL;
    if (machine != EM_X86_64 && machine != EM_AARCH64)
        return;
    while ((section = elf_nextscn(image->elf[0], section))) {
        GElf_Shdr header;
        GElf_Rela entry;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getrela(data, i, &entry); i++)
            if (GELF_R_TYPE(entry.r_info) == relative && in_image(image, entry.r_offset, 8))
                memcpy(image->memory + (entry.r_offset - image->base), &entry.r_addend, 8);
    }
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static bool build(struct hs_image *image, const struct hs_image_kind *kind)
{
    elf_version(EV_CURRENT);
    for (int i = 0; i < 2; i++)
        image->elf[i] = image->fd[i] < 0 ? NULL : elf_begin(image->fd[i], ELF_C_READ, NULL);
    if (!is_of(kind, image->elf[0]) || !read_headers(image) || !reserve(image, kind->pointer_size == 4) || !fill(image))
        return false;
    if (!is_of(kind, image->elf[1])) {
        elf_end(image->elf[1]);
        image->elf[1] = NULL;
    }
    image->sections = calloc(2 * SECTIONS_MAX, sizeof *image->sections);
    if (!image->sections)
        return false;
    add_sections(image, image->elf[0], false);
    if (!is_text_there(image))
        return false;
    add_sections(image, image->elf[1], true);
    if (!read_symbols(image, image->elf[0], SHT_SYMTAB) && !read_symbols(image, image->elf[1], SHT_SYMTAB))
        read_symbols(image, image->elf[0], SHT_DYNSYM);
    relocate(image, kind->machine);
    return true;
}

struct hs_image *hs_image__open(const struct hs_image_kind *kind, int fd, int debug)
{
    struct hs_image *image = calloc(1, sizeof *image);
    if (!image) {
        close(fd);
        if (debug >= 0)
            close(debug);
        return NULL;
    }
    image->fd[0] = fd;
    image->fd[1] = debug;
    if (build(image, kind))
        return image;
    hs_image__close(image);
    return NULL;
}

void hs_image__close(struct hs_image *image)
{
    if (!image)
        return;
    if (image->memory)
        munmap(image->memory, image->span);
    for (int i = 0; i < 2; i++) {
        elf_end(image->elf[i]);
        if (image->fd[i] >= 0)
            close(image->fd[i]);
    }
    free(image->sections);
    free(image->symbols);
    free(image);
}
