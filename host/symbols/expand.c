// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/expand.h"

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HEAPSONDE_HAS_ZSTD
#include <zstd.h>
#endif

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

// Debug information shrinks to a third, texts to a tenth: what claims more is damaged, or made to take memory.
enum { MOST_TIMES = 256, PAGE = 4096 };
#define MOST_BYTES ((uint64_t)1 << 34)

struct expanding {
    Elf *elf;
    int from, to;
    GElf_Ehdr header;
    uint64_t end; // of the new file
    bool all;     // also what libelf unpacks itself
    bool damaged;
};

// ---- the copy ------------------------------------------------------------------------------------------------------

static int copy_of(int fd, uint64_t size)
{
    int copy = memfd_create("heapsonde-sections", MFD_CLOEXEC);
    uint8_t bytes[1 << 16];
    for (uint64_t at = 0; copy >= 0 && at < size;) {
        ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)at);
        if (got <= 0 || pwrite(copy, bytes, (size_t)got, (off_t)at) != got) {
            close(copy);
            return -1;
        }
        at += (uint64_t)got;
    }
    return copy;
}

static void put(struct expanding *self, uint64_t offset, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    bool big = self->header.e_ident[EI_DATA] == ELFDATA2MSB;
    for (unsigned i = 0; i < size; i++)
        bytes[big ? size - 1 - i : i] = (uint8_t)(value >> (8 * i));
    self->damaged |= pwrite(self->to, bytes, size, (off_t)offset) != (ssize_t)size;
}

static void describe(struct expanding *self, size_t number, const GElf_Shdr *section, const GElf_Chdr *header)
{
    uint64_t at = self->header.e_shoff + number * self->header.e_shentsize;
    bool wide = self->header.e_ident[EI_CLASS] == ELFCLASS64;
    unsigned word = wide ? 8 : 4;
    put(self, at + (wide ? offsetof(Elf64_Shdr, sh_flags) : offsetof(Elf32_Shdr, sh_flags)),
        section->sh_flags & ~(uint64_t)SHF_COMPRESSED, word);
    put(self, at + (wide ? offsetof(Elf64_Shdr, sh_offset) : offsetof(Elf32_Shdr, sh_offset)), self->end, word);
    put(self, at + (wide ? offsetof(Elf64_Shdr, sh_size) : offsetof(Elf32_Shdr, sh_size)), header->ch_size, word);
    put(self, at + (wide ? offsetof(Elf64_Shdr, sh_addralign) : offsetof(Elf32_Shdr, sh_addralign)),
        header->ch_addralign, word);
}

// ---- sections ------------------------------------------------------------------------------------------------------

// Without libzstd, what is packed with it stays so.
static bool is_ours(const struct expanding *self, uint32_t type)
{
#ifdef HEAPSONDE_HAS_ZSTD
    if (type == ELFCOMPRESS_ZSTD)
        return true;
#endif
    return self->all && type == ELFCOMPRESS_ZLIB;
}

static bool is_packed(const struct expanding *self, Elf_Scn *section, GElf_Shdr *header, GElf_Chdr *packed)
{
    return gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS && header->sh_flags & SHF_COMPRESSED &&
           gelf_getchdr(section, packed) && is_ours(self, packed->ch_type);
}

static bool unpack_bytes(uint32_t type, void *to, uint64_t size, const uint8_t *bytes, size_t length)
{
    uLongf got = size;
#ifdef HEAPSONDE_HAS_ZSTD
    if (type == ELFCOMPRESS_ZSTD)
        return ZSTD_decompress(to, size, bytes, length) == size;
#endif
    (void)type;
    return uncompress(to, &got, bytes, length) == Z_OK && got == size;
}

static bool unpack(struct expanding *self, const uint8_t *bytes, size_t length, const GElf_Chdr *packed)
{
    uint64_t size = packed->ch_size;
    if (size / MOST_TIMES > length || size > MOST_BYTES - self->end || ftruncate(self->to, (off_t)(self->end + size)))
        return false;
    if (!size)
        return true;
    void *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->to, (off_t)self->end);
    if (to == MAP_FAILED)
        return false;
    bool whole = unpack_bytes(packed->ch_type, to, size, bytes, length);
    munmap(to, size);
    return whole;
}

static bool expand(struct expanding *self, Elf_Scn *section, const GElf_Shdr *header, const GElf_Chdr *packed)
{
    Elf_Data *data = elf_rawdata(section, NULL);
    size_t skipped = self->header.e_ident[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
    if (!data || !data->d_buf || data->d_size < skipped)
        return false;
    self->end = (self->end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (!unpack(self, (const uint8_t *)data->d_buf + skipped, data->d_size - skipped, packed))
        return false;
    describe(self, elf_ndxscn(section), header, packed);
    self->end += packed->ch_size;
    return true;
}

static void expand_all(struct expanding *self)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    GElf_Chdr packed;
    struct stat status;
    while ((section = elf_nextscn(self->elf, section)) && !self->damaged) {
        if (!is_packed(self, section, &header, &packed))
            continue;
        if (self->to < 0 && !fstat(self->from, &status)) {
            self->end = (uint64_t)status.st_size;
            self->to = copy_of(self->from, self->end);
        }
        self->damaged |= self->to < 0 || !expand(self, section, &header, &packed);
    }
}

static int expand_file(int fd, bool all, bool *damaged)
{
    struct expanding self = {.from = fd, .to = -1, .all = all};
    elf_version(EV_CURRENT);
    self.elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (self.elf && elf_kind(self.elf) == ELF_K_ELF && gelf_getehdr(self.elf, &self.header))
        expand_all(&self);
    elf_end(self.elf);
    if (damaged && self.damaged)
        *damaged = true;
    if (self.damaged || self.to < 0) {
        if (self.to >= 0)
            close(self.to);
        return fd;
    }
    close(fd);
    return self.to;
}

int hs_expand__sections(int fd, bool *damaged)
{
    return expand_file(fd, false, damaged);
}

int hs_expand__all(int fd, bool *damaged)
{
    return expand_file(fd, true, damaged);
}
