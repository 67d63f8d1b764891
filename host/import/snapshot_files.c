// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/snapshot_files.h"

#include "host/base/hash_index.h"
#include "host/import/import.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/locate.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void hs_snapshot_files__create(struct hs_snapshot_files *files, const struct hs_symbols_options *symbols,
                               const struct hs_summary *summary)
{
    *files = (struct hs_snapshot_files){.trace = NULL};
    if (symbols)
        files->options = *symbols;
    files->options.machine = summary->machine;
    files->options.pointer_size = summary->pointer_size;
    files->options.byte_order = summary->byte_order;
}

// ---- copies in the trace --------------------------------------------------------------------------------------------

struct copy {
    const struct hs_snapshot_files *files;
    const char *path;
};

static const struct hs_trace_chunk *chunk_at(const struct hs_trace *trace, uint64_t offset)
{
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++)
        if (chunks[i].offset == offset)
            return &chunks[i];
    return NULL;
}

static int to_memory_file(const uint8_t *bytes, size_t length)
{
    int fd = memfd_create("heapsonde-module", MFD_CLOEXEC);
    while (fd >= 0 && length) {
        ssize_t written = write(fd, bytes, length);
        if (written <= 0) {
            close(fd);
            return -EIO;
        }
        bytes += written;
        length -= (size_t)written;
    }
    return fd;
}

static int unpack(const struct hs_snapshot_files *files, const struct hs_stored_embedded *embedded)
{
    const struct hs_trace_chunk *chunk = chunk_at(files->trace, embedded->chunk_offset);
    uint8_t *payload;
    size_t length;
    if (!chunk || hs_trace__payload(files->trace, chunk, &payload, &length))
        return -ENOENT;
    int fd =
        length >= embedded->length ? to_memory_file(payload + (length - embedded->length), embedded->length) : -ENOENT;
    free(payload);
    return fd;
}

static int open_copy(void *context)
{
    const struct copy *copy = context;
    for (size_t i = 0; copy->files->trace && i < copy->files->embedded_count; i++)
        if (!strcmp(copy->files->strings + copy->files->embedded[i].name, copy->path))
            return unpack(copy->files, &copy->files->embedded[i]);
    return -ENOENT;
}

// ---- files on disk --------------------------------------------------------------------------------------------------

// Reads the file's link to its debug information. False: the file has a symbol table itself, and nothing better can be
// found.
static bool debug_link(int fd, struct hs_debug_link *link, Elf **elf)
{
    Elf_Scn *section = NULL;
    GElf_Word checksum = 0;
    bool has_symbols = false;
    elf_version(EV_CURRENT);
    *elf = elf_begin(fd, ELF_C_READ, NULL);
    while (*elf && !has_symbols && (section = elf_nextscn(*elf, section))) {
        GElf_Shdr header;
        has_symbols = gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB;
    }
    if (*elf && !has_symbols)
        link->name = dwelf_elf_gnu_debuglink(*elf, &checksum);
    link->checksum = checksum;
    return *elf && !has_symbols;
}

static int find_debug(const struct hs_snapshot_files *files, struct hs_symbols_module *module, int code,
                      const char *path)
{
    struct hs_debug_link link = {.file = path};
    struct hs_probe probe;
    Elf *elf;
    char *found = NULL;
    int fd = -1;
    if (debug_link(code, &link, &elf)) {
        if (!module->build_id_length && !hs_probe__descriptor(&probe, code)) {
            module->build_id = probe.build_id;
            module->build_id_length = probe.build_id_length;
        }
        fd = hs_locate_debug(&files->options, module, &link, &found);
    }
    elf_end(elf);
    free(found);
    return fd;
}

void hs_snapshot_files__find(const struct hs_snapshot_files *files, const struct hs_symbols_module *described,
                             int *code, int *debug)
{
    struct copy copy = {files, described->path};
    struct hs_symbols_module module = *described;
    struct hs_located located;
    module.open_copy = open_copy;
    module.context = &copy;
    hs_locate_code(&files->options, &module, &located);
    *code = located.fd;
    *debug = located.fd < 0 ? -1 : find_debug(files, &module, located.fd, located.path);
    free(located.path);
}

// ---- which they were ------------------------------------------------------------------------------------------------

// Copies in the trace are as the trace is.
static uint64_t mix_file(uint64_t hash, int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) || !status.st_nlink)
        return hs_hash__mix(hash, fd >= 0);
    hash = hs_hash__mix(hash, (uint64_t)status.st_size);
    hash = hs_hash__mix(hash, (uint64_t)status.st_mtim.tv_sec);
    return hs_hash__mix(hash, (uint64_t)status.st_mtim.tv_nsec ^ (uint64_t)status.st_ino);
}

uint64_t hs_snapshot_files__identity(const struct hs_snapshot_files *files, const struct hs_symbols_module *modules,
                                     size_t count)
{
    struct hs_snapshot_files on_disk = *files;
    uint64_t sum = 0;
    on_disk.trace = NULL;
    for (size_t i = 0; i < count; i++) {
        int code, debug;
        hs_snapshot_files__find(&on_disk, &modules[i], &code, &debug);
        sum += mix_file(mix_file(hs_hash__mix(1, modules[i].start), code), debug);
        if (code >= 0)
            close(code);
        if (debug >= 0)
            close(debug);
    }
    return sum | 1;
}
