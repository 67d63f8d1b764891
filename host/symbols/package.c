// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/package.h"

#include "host/symbols/expand.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_COLUMNS = 16, INDEX_HEADER = 16, SIGNATURE = 8, WORD = 4 };

enum package_kind { INFO, ABBREV, LINE, STR_OFFSETS, RNGLISTS, SHARED_KINDS, STRINGS = SHARED_KINDS, KINDS };

// The numbers of sections in the index, in version 2 (GNU, for DWARF 4) and in version 5. 0: not in that version.
static const struct {
    const char *packed;
    const char *plain;
    uint32_t number[2];
} names[KINDS] = {
    [INFO] = {".debug_info.dwo", ".debug_info", {1, 1}},
    [ABBREV] = {".debug_abbrev.dwo", ".debug_abbrev", {3, 3}},
    [LINE] = {".debug_line.dwo", ".debug_line", {4, 4}},
    [STR_OFFSETS] = {".debug_str_offsets.dwo", ".debug_str_offsets", {6, 6}},
    [RNGLISTS] = {".debug_rnglists.dwo", ".debug_rnglists", {0, 8}},
    [STRINGS] = {".debug_str.dwo", ".debug_str", {0, 0}}, // all units share it
};

struct package_part {
    uint64_t offset; // in the file
    uint64_t size;
};

struct hs_package {
    int fd;
    uint64_t size;
    uint8_t *bytes;
    bool big_endian;
    bool wide;
    struct package_part sections[KINDS];
    struct package_part index;
    uint32_t version;
    uint32_t columns;
    uint32_t units;
    uint32_t slots;
};

// ---- the file ------------------------------------------------------------------------------------------------------

static uint64_t number_at(const struct hs_package *self, uint64_t offset, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | self->bytes[offset + (self->big_endian ? i : size - 1 - i)];
    return value;
}

static void take_section(struct hs_package *self, const char *name, const GElf_Shdr *header)
{
    struct package_part part = {header->sh_offset, header->sh_size};
    bool outside = part.offset > self->size || part.size > self->size - part.offset;
    if (!name || outside || header->sh_type == SHT_NOBITS || header->sh_flags & SHF_COMPRESSED)
        return;
    if (!strcmp(name, ".debug_cu_index"))
        self->index = part;
    for (unsigned i = 0; i < KINDS; i++) {
        if (!strcmp(name, names[i].packed))
            self->sections[i] = part;
    }
}

static bool read_sections(struct hs_package *self)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(self->fd, ELF_C_READ_MMAP, NULL);
    Elf_Scn *section = NULL;
    GElf_Ehdr file;
    size_t texts = 0;
    bool readable = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &file) && !elf_getshdrstrndx(elf, &texts);
    if (readable) {
        self->big_endian = file.e_ident[EI_DATA] == ELFDATA2MSB;
        self->wide = file.e_ident[EI_CLASS] == ELFCLASS64;
    }
    while (readable && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header))
            take_section(self, elf_strptr(elf, texts, header.sh_name), &header);
    }
    elf_end(elf);
    return readable && self->index.size >= INDEX_HEADER && self->sections[INFO].size && self->sections[ABBREV].size;
}

static bool read_index(struct hs_package *self)
{
    uint64_t at = self->index.offset;
    self->version = (uint32_t)number_at(self, at, WORD);
    if (self->version != 2)
        self->version = (uint32_t)number_at(self, at, 2);
    self->columns = (uint32_t)number_at(self, at + 4, WORD);
    self->units = (uint32_t)number_at(self, at + 8, WORD);
    self->slots = (uint32_t)number_at(self, at + 12, WORD);
    bool known = (self->version == 2 || self->version == 5) && self->columns && self->columns <= MOST_COLUMNS;
    uint64_t needed = INDEX_HEADER + (uint64_t)self->slots * (SIGNATURE + WORD) +
                      (uint64_t)self->columns * WORD * (1 + 2 * (uint64_t)self->units);
    return known && self->slots && !(self->slots & (self->slots - 1)) && needed <= self->index.size;
}

static bool open_file(struct hs_package *self, int fd)
{
    struct stat status;
    self->fd = hs_expand__all(fcntl(fd, F_DUPFD_CLOEXEC, 0), NULL);
    if (self->fd < 0 || fstat(self->fd, &status) || status.st_size <= 0)
        return false;
    self->size = (uint64_t)status.st_size;
    self->bytes = mmap(NULL, self->size, PROT_READ, MAP_PRIVATE, self->fd, 0);
    if (self->bytes == MAP_FAILED)
        self->bytes = NULL;
    return self->bytes && read_sections(self) && read_index(self);
}

struct hs_package *hs_package__open(int fd)
{
    struct hs_package *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    if (open_file(self, fd))
        return self;
    hs_package__close(self);
    return NULL;
}

void hs_package__close(struct hs_package *self)
{
    if (!self)
        return;
    if (self->bytes)
        munmap(self->bytes, self->size);
    if (self->fd >= 0)
        close(self->fd);
    free(self);
}

// ---- the index -----------------------------------------------------------------------------------------------------

// The row of a unit, from 1; 0: it is not there.
static uint32_t row_of(const struct hs_package *self, uint64_t id)
{
    uint64_t signatures = self->index.offset + INDEX_HEADER;
    uint64_t rows = signatures + (uint64_t)self->slots * SIGNATURE;
    uint32_t mask = self->slots - 1;
    uint32_t slot = (uint32_t)id & mask;
    uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;
    for (uint32_t tried = 0; tried < self->slots; tried++, slot = (slot + step) & mask) {
        uint32_t row = (uint32_t)number_at(self, rows + (uint64_t)slot * WORD, WORD);
        if (!row)
            return 0;
        if (number_at(self, signatures + (uint64_t)slot * SIGNATURE, SIGNATURE) == id)
            return row <= self->units ? row : 0;
    }
    return 0;
}

bool hs_package__holds(const struct hs_package *self, uint64_t id)
{
    return row_of(self, id) != 0;
}

static enum package_kind kind_of(const struct hs_package *self, uint32_t number)
{
    unsigned kind = 0;
    while (kind < SHARED_KINDS && names[kind].number[self->version == 5] != number)
        kind++;
    return number ? kind : SHARED_KINDS;
}

static bool take_part(const struct hs_package *self, enum package_kind kind, uint64_t offset, uint64_t size,
                      struct package_part *parts)
{
    const struct package_part *section = &self->sections[kind];
    if (offset > section->size || size > section->size - offset)
        return false;
    parts[kind] = (struct package_part){section->offset + offset, size};
    return true;
}

static bool find_parts(const struct hs_package *self, uint32_t row, struct package_part *parts)
{
    uint64_t numbers = self->index.offset + INDEX_HEADER + (uint64_t)self->slots * (SIGNATURE + WORD);
    uint64_t width = (uint64_t)self->columns * WORD;
    uint64_t offsets = numbers + row * width;
    uint64_t sizes = offsets + self->units * width;
    parts[STRINGS] = self->sections[STRINGS];
    for (uint32_t i = 0; i < self->columns; i++) {
        enum package_kind kind = kind_of(self, (uint32_t)number_at(self, numbers + i * WORD, WORD));
        if (kind < SHARED_KINDS && !take_part(self, kind, number_at(self, offsets + i * WORD, WORD),
                                              number_at(self, sizes + i * WORD, WORD), parts))
            return false;
    }
    return parts[INFO].size && parts[ABBREV].size;
}

// ---- a unit as a file ----------------------------------------------------------------------------------------------

static const char address_name[] = ".debug_addr";

enum { SECTIONS = KINDS + 3 }; // the empty first one, the addresses, the names

struct package_image {
    uint8_t *bytes;
    uint64_t size;
    uint64_t headers; // the table of sections; names and addresses follow
    uint64_t end;     // of what was written
    unsigned count;
    uint64_t texts;
    bool big_endian;
    bool wide;
};

static void put(const struct package_image *image, uint64_t at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        image->bytes[at + (image->big_endian ? size - 1 - i : i)] = (uint8_t)(value >> (8 * i));
}

#define PUT(image, at, type, field, value)                                                                             \
    put(image, (at) + ((image)->wide ? offsetof(Elf64_##type, field) : offsetof(Elf32_##type, field)), value,          \
        (image)->wide ? sizeof(((Elf64_##type *)0)->field) : sizeof(((Elf32_##type *)0)->field))

static uint64_t header_size(const struct package_image *image)
{
    return image->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static void add_section(struct package_image *image, const char *name, uint32_t type, struct package_part part)
{
    uint64_t at = image->headers + image->count++ * header_size(image);
    size_t length = strlen(name) + 1;
    memcpy(image->bytes + image->end, name, length);
    PUT(image, at, Shdr, sh_name, image->end - image->texts);
    PUT(image, at, Shdr, sh_type, type);
    PUT(image, at, Shdr, sh_offset, part.offset);
    PUT(image, at, Shdr, sh_size, part.size);
    PUT(image, at, Shdr, sh_addralign, 1);
    image->end += length;
}

static void finish_header(struct package_image *image)
{
    PUT(image, 0, Ehdr, e_shoff, image->headers);
    PUT(image, 0, Ehdr, e_shentsize, header_size(image));
    PUT(image, 0, Ehdr, e_shnum, image->count);
    PUT(image, 0, Ehdr, e_shstrndx, image->count - 1);
    PUT(image, 0, Ehdr, e_phnum, 0);
    PUT(image, 0, Ehdr, e_phoff, 0);
}

static void write_tables(struct package_image *image, const struct package_part *parts,
                         struct hs_package_bytes addresses)
{
    image->count = 1;
    image->texts = image->headers + SECTIONS * header_size(image);
    image->end = image->texts + 1; // the empty name
    for (unsigned i = 0; i < KINDS; i++) {
        if (parts[i].size)
            add_section(image, names[i].plain, SHT_PROGBITS, parts[i]);
    }
    uint64_t room = image->size - addresses.size;
    if (addresses.size) {
        memcpy(image->bytes + room, addresses.bytes, addresses.size);
        add_section(image, address_name, SHT_PROGBITS, (struct package_part){room, addresses.size});
    }
    add_section(image, "", SHT_STRTAB, (struct package_part){image->texts, room - image->texts});
    finish_header(image);
}

static uint64_t to_pages(uint64_t size, uint64_t page)
{
    return (size + page - 1) & ~(page - 1);
}

// Most of the image is the file, mapped read-only: writable memory counts against the memory limit.
static bool map_image(const struct hs_package *self, uint64_t extra, struct package_image *image)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    image->headers = to_pages(self->size, page);
    image->size = image->headers + to_pages(extra, page);
    image->bytes = mmap(NULL, image->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image->bytes == MAP_FAILED)
        return false;
    if (mmap(image->bytes, self->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, self->fd, 0) != MAP_FAILED &&
        !mprotect(image->bytes, page, PROT_READ | PROT_WRITE) &&
        !mprotect(image->bytes + image->headers, image->size - image->headers, PROT_READ | PROT_WRITE))
        return true;
    munmap(image->bytes, image->size);
    return false;
}

bool hs_package__map(const struct hs_package *self, uint64_t id, struct hs_package_bytes addresses,
                     struct hs_package_unit *unit)
{
    enum { TABLES = SECTIONS * (sizeof(Elf64_Shdr) + 32) };
    struct package_part parts[KINDS] = {{0}};
    struct package_image image = {.big_endian = self->big_endian, .wide = self->wide};
    uint32_t row = row_of(self, id);
    if (!row || !find_parts(self, row, parts) || !map_image(self, TABLES + (uint64_t)addresses.size, &image))
        return false;
    write_tables(&image, parts, addresses);
    *unit = (struct hs_package_unit){.image = image.bytes,
                                     .size = image.size,
                                     .info = {image.bytes + parts[INFO].offset, parts[INFO].size},
                                     .ranges = {image.bytes + parts[RNGLISTS].offset, parts[RNGLISTS].size},
                                     .big_endian = self->big_endian};
    return true;
}

void hs_package__unmap(struct hs_package_unit *unit)
{
    munmap(unit->image, unit->size);
}
