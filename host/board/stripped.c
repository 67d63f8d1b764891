// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/stripped.h"

#include "host/symbols/elf_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

// e_shoff, e_shnum and e_shstrndx are zero in any byte order.
static void forget_sections(unsigned char *header, const struct hs_probe *probe)
{
    if (probe->pointer_size == 8) {
        memset(header + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
        memset(header + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
    } else {
        memset(header + offsetof(Elf32_Ehdr, e_shoff), 0, sizeof(Elf32_Off));
        memset(header + offsetof(Elf32_Ehdr, e_shnum), 0, 4);
    }
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

static int strip(int from, int to, const struct hs_probe *probe, size_t *size)
{
    struct stat state;
    *size = end_of_loads(probe);
    if (fstat(from, &state))
        return -errno;
    if (*size < sizeof(Elf64_Ehdr) || *size > (size_t)state.st_size)
        return -ENOEXEC;
    unsigned char *bytes = malloc(*size);
    int result = !bytes ? -ENOMEM : pread(from, bytes, *size, 0) != (ssize_t)*size ? -EIO : 0;
    if (!result) {
        forget_sections(bytes, probe);
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
