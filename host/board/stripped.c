// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/stripped.h"

#include "host/symbols/elf_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SECTIONS = 256 };

static size_t end_of_loads(const struct hs_probe *probe)
{
    size_t end = 0;
    for (size_t i = 0; i < probe->load_count; i++) {
        const struct hs_probe_load *load = &probe->loads[i];
        size_t behind = (size_t)(load->offset + (load->end - load->address));
        end = behind > end ? behind : end;
    }
    return end;
}

// A number in the byte order of the file.
static uint64_t get(const struct hs_probe *probe, const unsigned char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)at[i] << 8 * (probe->big_endian ? size - 1 - i : i);
    return number;
}

static void put(const struct hs_probe *probe, unsigned char *at, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(number >> 8 * (probe->big_endian ? size - 1 - i : i));
}

#define FIELD(probe, kind, name)                                                                                       \
    ((probe)->pointer_size == 8 ? offsetof(Elf64_##kind, name) : offsetof(Elf32_##kind, name))
#define SIZE(probe, kind) ((probe)->pointer_size == 8 ? sizeof(Elf64_##kind) : sizeof(Elf32_##kind))

// Of the sections, only those are left in which an injector finds the exported functions. They are mapped anyway.
// Returns the new length of the file.
static size_t keep_exports(unsigned char *bytes, size_t length, const unsigned char *sections, size_t count,
                           const struct hs_probe *probe)
{
    const size_t at = (length + 7) & ~(size_t)7, each = SIZE(probe, Shdr), word = probe->pointer_size;
    memset(bytes + length, 0, at - length + count * each);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *section = sections + i * each;
        const uint64_t type = get(probe, section + FIELD(probe, Shdr, sh_type), 4);
        const uint64_t start = get(probe, section + FIELD(probe, Shdr, sh_offset), word);
        const uint64_t size = get(probe, section + FIELD(probe, Shdr, sh_size), word);
        if ((type == SHT_DYNSYM || type == SHT_STRTAB) && start <= length && size <= length - start)
            memcpy(bytes + at + i * each, section, each);
    }
    put(probe, bytes + FIELD(probe, Ehdr, e_shoff), word, count ? at : 0);
    put(probe, bytes + FIELD(probe, Ehdr, e_shnum), 2, count);
    put(probe, bytes + FIELD(probe, Ehdr, e_shstrndx), 2, 0);
    return at + count * each;
}

static int write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR)
            return -errno;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
    return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

// A table that cannot be read counts as none.
static size_t read_sections(int fd, const unsigned char *header, const struct hs_probe *probe, unsigned char *to)
{
    const size_t each = SIZE(probe, Shdr);
    const size_t count = (size_t)get(probe, header + FIELD(probe, Ehdr, e_shnum), 2);
    const uint64_t offset = get(probe, header + FIELD(probe, Ehdr, e_shoff), probe->pointer_size);
    const bool is_usual = get(probe, header + FIELD(probe, Ehdr, e_shentsize), 2) == each && count <= MOST_SECTIONS;
    return is_usual && offset < INT64_MAX && read_at(fd, to, count * each, offset) ? count : 0;
}

static int strip(int from, int to, const struct hs_probe *probe, size_t *size)
{
    static unsigned char sections[MOST_SECTIONS * sizeof(Elf64_Shdr)];
    struct stat state;
    const size_t length = end_of_loads(probe);
    if (fstat(from, &state))
        return -errno;
    if (length < sizeof(Elf64_Ehdr) || length > (size_t)state.st_size)
        return -ENOEXEC;
    unsigned char *bytes = malloc(length + sizeof(sections) + 8);
    int result = !bytes ? -ENOMEM : read_at(from, bytes, length, 0) ? 0 : -EIO;
    if (!result) {
        const size_t count = read_sections(from, bytes, probe, sections);
        *size = keep_exports(bytes, length, sections, count, probe);
        result = write_all(to, bytes, *size);
    }
    free(bytes);
    return result;
}

int hs_stripped__open(const char *path, size_t *size, struct hs_error *error)
{
    struct hs_probe probe;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = memfd_create("library", MFD_CLOEXEC);
    int result = from < 0 || to < 0 ? -errno : hs_probe__descriptor(&probe, from);
    if (!result)
        result = probe.kind == HS_PROBE_ELF && !probe.damaged ? strip(from, to, &probe, size) : -ENOEXEC;
    if (from >= 0)
        close(from);
    if (!result)
        return to;
    if (to >= 0)
        close(to);
    return hs_error__set(error, -result, "the recording library %s cannot be read: %s", path, strerror(-result));
}
