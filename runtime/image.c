// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/image.h"

#include "arch/system.h"
#include "runtime/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>

enum { SEGMENTS_LIMIT = 64, NOTES_LIMIT = 64, HEAD = 64 };

#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr program_header;
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr program_header;
#endif

// A module and its file. Memory is preferred: the file may have been replaced.
struct source {
    uint64_t start, length, offset; // the mapping at hand
    uint64_t origin;                // of the headers, in the file
    uint64_t bias;
    uint32_t layout; // hash of the segments
    uint64_t end;    // as the file has it, of what is loaded
    bool has_code;   // something of it
    const char *path;
    int fd;         // of the file, when it was needed; -1: not yet, -2: there is none
    bool is_opaque; // no call reads this memory
    uint64_t table; // of segments, in the file
    unsigned count;
};

static bool read_file(struct source *source, uint64_t offset, void *to, size_t length)
{
    if (source->fd == -1 && source->path[0] == '/')
        source->fd = (int)hs_system_open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (source->fd < 0)
        source->fd = -2;
    return source->fd >= 0 && hs_system_pread(source->fd, to, length, offset) == (long)length;
}

// Reads the file on disk, not the memory, and only if it is the file that was mapped.
static bool is_mapped_file(struct source *source)
{
    uint8_t there[HEAD], here[HEAD];
    if (hs_memory__read((uintptr_t)source->start, here, sizeof here) != sizeof here)
        return true;
    return read_file(source, source->offset, there, sizeof there) && __builtin_memcmp(there, here, sizeof here) == 0;
}

// From the mapping at hand as far as that goes, else from the file.
static bool read_bytes(struct source *source, uint64_t offset, void *to, size_t length)
{
    uint64_t within = offset - source->offset;
    if (within < source->length && length <= source->length - within &&
        hs_memory__read((uintptr_t)(source->start + within), to, length) == length)
        return true;
    return is_mapped_file(source) && read_file(source, offset, to, length);
}

static bool read_header(struct source *source)
{
    elf_header header;
    if (!read_bytes(source, source->origin, &header, sizeof header) ||
        __builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(program_header))
        return false;
    source->table = source->origin + header.e_phoff;
    source->count = header.e_phnum < SEGMENTS_LIMIT ? header.e_phnum : SEGMENTS_LIMIT;
    return true;
}

static bool segment_at(struct source *source, unsigned i, program_header *segment)
{
    return i < source->count && read_bytes(source, source->table + i * sizeof *segment, segment, sizeof *segment);
}

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(hs_memory__page_size() - 1);
}

static bool lies_in(const program_header *segment, uint64_t offset)
{
    return segment->p_type == PT_LOAD && offset >= page_of(segment->p_offset) &&
           offset < segment->p_offset + (uint64_t)segment->p_filesz;
}

// Several segments may lie in one page of the file: the mapping is that of the first one with the same right to run.
static bool find_bias(struct source *source, bool executable)
{
    uint64_t offset = source->offset - source->origin;
    program_header segment;
    bool found = false, sure = false;
    source->bias = source->start;
    source->layout = 2166136261u;
    for (unsigned i = 0; segment_at(source, i, &segment); i++) {
        for (size_t k = 0; k < sizeof segment; k++)
            source->layout = (source->layout ^ ((const uint8_t *)&segment)[k]) * 16777619u;
        uint64_t end = segment.p_vaddr + (uint64_t)segment.p_memsz;
        if (segment.p_type != PT_LOAD)
            continue;
        bool code = (segment.p_flags & PF_X) != 0, fits = code == executable;
        source->end = end > source->end ? end : source->end;
        source->has_code |= code;
        if (!lies_in(&segment, offset) || sure || (found && !fits))
            continue;
        source->bias = source->start - (offset + segment.p_vaddr - segment.p_offset);
        found = true;
        sure = fits;
    }
    return found;
}

static void begin(struct source *source, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    uint8_t byte;
    *source = (struct source){
        .start = start, .length = end - start, .offset = offset, .origin = offset, .path = path, .fd = -1};
    source->is_opaque = !hs_memory__read((uintptr_t)start, &byte, 1);
}

static void finish(struct source *source)
{
    if (source->fd >= 0)
        hs_system_close(source->fd);
}

uint64_t hs_image__reach(const struct hs_maps_line *mapping, const char *path, bool *has_code)
{
    struct source source;
    uint8_t byte;
    if (!mapping->readable)
        return 0;
    begin(&source, mapping->start, mapping->end, mapping->offset, path);
    uint64_t reach = 0;
    if (read_header(&source) && find_bias(&source, mapping->executable))
        reach = page_of((uintptr_t)(source.bias + source.end) + hs_memory__page_size() - 1);
    else if (source.is_opaque && !read_file(&source, 0, &byte, 1))
        reach = HS_IMAGE_UNREADABLE;
    *has_code |= source.is_opaque && source.has_code;
    finish(&source);
    return reach;
}

bool hs_image__has(const struct hs_mapped *mapped, const struct hs_maps_line *mapping, bool same_file, const char *path)
{
    struct source source;
    bool has = false;
    begin(&source, mapped->start, mapped->first_end, mapped->offset, path);
    if (read_header(&source) && find_bias(&source, mapped->first_executable)) {
        program_header segment;
        for (unsigned i = 0; !has && segment_at(&source, i, &segment); i++) {
            // As if the whole file were loaded with the offset of this segment.
            uint64_t offset = mapping->start - (source.bias + segment.p_vaddr - segment.p_offset);
            has = lies_in(&segment, offset) &&
                  (same_file ? offset == mapping->offset - source.origin : (segment.p_flags & PF_X) != 0);
        }
    }
    finish(&source);
    return has;
}

// ---- what is in it --------------------------------------------------------------------------------------------------

static uint64_t padded(uint32_t length)
{
    return (length + 3ull) & ~3ull;
}

static void find_build_id(struct hs_image *image, struct source *source, const program_header *segment)
{
    uint64_t start = source->origin + segment->p_offset, at = 0;
    struct {
        uint32_t name_length, length, type;
        char name[4];
    } note;
    for (unsigned i = 0; i < NOTES_LIMIT && at + sizeof note <= segment->p_memsz; i++) {
        if (!read_bytes(source, start + at, &note, sizeof note))
            return;
        uint64_t description = at + 12 + padded(note.name_length);
        if (note.type == NT_GNU_BUILD_ID && note.name_length == 4 && note.length <= HS_BUILD_ID_LIMIT &&
            note.name[0] == 'G') {
            if (read_bytes(source, start + description, image->build_id, note.length))
                image->build_id_length = note.length;
            return;
        }
        at = description + padded(note.length);
    }
}

// The loaded code is recorded before its properties.
static void look_at_segments(struct hs_image *image, struct source *source)
{
    uint64_t tables = 0, tables_end = 0;
    program_header segment;
    for (unsigned i = source->count; i-- > 0 && segment_at(source, i, &segment);) {
        if (segment.p_type == PT_GNU_EH_FRAME)
            tables = segment.p_vaddr;
        if (segment.p_type == PT_LOAD && !(segment.p_flags & (PF_W | PF_X)) &&
            tables - segment.p_vaddr < segment.p_filesz)
            tables_end = segment.p_vaddr + (uint64_t)segment.p_filesz;
        if (segment.p_type == PT_NOTE)
            find_build_id(image, source, &segment);
    }
    if (tables && tables_end) {
        image->tables = source->bias + tables;
        image->tables_end = source->bias + tables_end;
    }
}

void hs_image__read(struct hs_image *image, const struct hs_mapped *mapped, const char *path)
{
    struct source source;
    bool has_headers = mapped->reach != 0;
    begin(&source, mapped->start, mapped->first_end, mapped->offset, path);
    if (!has_headers)
        source.origin = 0;
    *image = (struct hs_image){.bias = mapped->start - (has_headers ? 0 : mapped->offset), .origin = source.origin};
    if (read_header(&source) && find_bias(&source, mapped->first_executable)) {
        image->bias = source.bias;
        image->layout = source.layout;
        look_at_segments(image, &source);
    }
    // Elsewhere than its tables.
    if (!has_headers)
        image->tables = image->tables_end = 0;
    finish(&source);
}

bool hs_image__is_file(const char *path)
{
    struct hs_file_status status;
    return hs_system_status_of(path, 0, &status) == 0;
}
