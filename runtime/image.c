// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/image.h"

#include "arch/system.h"
#include "runtime/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>

enum { SEGMENTS_LIMIT = 64, NOTES_LIMIT = 64 };

#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr program_header;
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr program_header;
#endif

struct source {
    struct hs_image *image;
    int fd; // of the module's file when memory cannot be read by a call; -1: none
};

// `offset` is where the file has what lies at `address`.
static bool read_part(const struct source *source, uint64_t address, uint64_t offset, void *to, size_t length)
{
    if (hs_memory__read((uintptr_t)address, to, length) == length)
        return true;
    return source->fd >= 0 && hs_system_pread(source->fd, to, length, offset) == (long)length;
}

static bool read_segment(const struct source *source, const elf_header *header, unsigned i, program_header *segment)
{
    uint64_t offset = header->e_phoff + i * sizeof *segment;
    return read_part(source, source->image->start + offset, offset, segment, sizeof *segment);
}

static uint64_t padded(uint32_t length)
{
    return (length + 3ull) & ~3ull;
}

static void find_build_id(const struct source *source, const program_header *segment)
{
    struct hs_image *image = source->image;
    uint64_t address = image->bias + segment->p_vaddr, offset = segment->p_offset, at = 0;
    struct {
        uint32_t name_length, length, type;
        char name[4];
    } note;
    for (unsigned i = 0; i < NOTES_LIMIT && at + sizeof note <= segment->p_memsz; i++) {
        if (!read_part(source, address + at, offset + at, &note, sizeof note))
            return;
        uint64_t description = at + 12 + padded(note.name_length);
        if (note.type == NT_GNU_BUILD_ID && note.name_length == 4 && note.length <= HS_BUILD_ID_LIMIT &&
            note.name[0] == 'G') {
            if (read_part(source, address + description, offset + description, image->build_id, note.length))
                image->build_id_length = note.length;
            return;
        }
        at = description + padded(note.length);
    }
}

static void read_headers(const struct source *source)
{
    struct hs_image *image = source->image;
    elf_header header;
    program_header segment;
    if (!read_part(source, image->start, 0, &header, sizeof header) ||
        __builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof segment)
        return;
    uint64_t lowest = UINT64_MAX, tables = 0, tables_end = 0;
    // What is loaded comes before what is told of it.
    for (unsigned i = header.e_phnum < SEGMENTS_LIMIT ? header.e_phnum : SEGMENTS_LIMIT; i-- > 0;) {
        if (!read_segment(source, &header, i, &segment))
            return;
        if (segment.p_type == PT_GNU_EH_FRAME)
            tables = segment.p_vaddr;
        if (segment.p_type != PT_LOAD)
            continue;
        if (segment.p_vaddr < lowest)
            lowest = segment.p_vaddr;
        if (!(segment.p_flags & (PF_W | PF_X)) && tables - segment.p_vaddr < segment.p_filesz)
            tables_end = segment.p_vaddr + segment.p_filesz;
    }
    image->bias = image->start - (lowest == UINT64_MAX ? 0 : lowest & ~(uint64_t)(hs_memory__page_size() - 1));
    if (tables && tables_end) {
        image->tables = image->bias + tables;
        image->tables_end = image->bias + tables_end;
    }
    for (unsigned i = 0; i < header.e_phnum && i < SEGMENTS_LIMIT && !image->build_id_length; i++)
        if (read_segment(source, &header, i, &segment) && segment.p_type == PT_NOTE)
            find_build_id(source, &segment);
}

void hs_image__read(struct hs_image *image, uintptr_t start, const char *path)
{
    uint8_t byte;
    struct source source = {image, -1};
    *image = (struct hs_image){.start = start, .bias = start};
    if (path[0] == '/' && !hs_memory__read(start, &byte, 1))
        source.fd = (int)hs_system_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    read_headers(&source);
    if (source.fd >= 0)
        hs_system_close(source.fd);
}
