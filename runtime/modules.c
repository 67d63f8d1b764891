// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/modules.h"

#include "arch/system.h"
#include "runtime/embed.h"
#include "runtime/journal.h"
#include "runtime/memory.h"
#include "runtime/text.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

enum { MODULES_LIMIT = 4096, PATH_LIMIT = 1024, BUILD_ID_LIMIT = 64, READ_SIZE = 16384, NOTES_LIMIT = 4096 };

// Code in memory: consecutive mappings of one file, or one anonymous mapping (`inode` 0).
struct module {
    uintptr_t start, end;
    uint64_t inode;
    bool executable;
    bool present; // met in the running scan
};

struct mapping {
    uintptr_t start, end;
    uint64_t offset, inode;
    bool executable;
    const char *path;
};

static struct {
    struct module *table; // MODULES_LIMIT entries, touched as far as used
    uint32_t count;
    struct module recent;        // the last one met
    uintptr_t last_unknown_page; // code that no scan explains is not scanned for again at once
} modules;

static bool known(uintptr_t pc)
{
    if (pc - modules.recent.start < modules.recent.end - modules.recent.start)
        return true;
    for (uint32_t i = 0; i < modules.count; i++)
        if (pc - modules.table[i].start < modules.table[i].end - modules.table[i].start) {
            modules.recent = modules.table[i];
            return true;
        }
    return false;
}

// ---- what a module's own headers say --------------------------------------------------------------------------------

struct image {
    uintptr_t start;
    int fd; // of the module's file, for kernels on which memory cannot be read by a call; -1: none
    uint64_t bias;
    uint8_t build_id[BUILD_ID_LIMIT];
    size_t build_id_length;
};

// `offset` is where the file has what lies at `address`.
static size_t read_part(const struct image *image, uint64_t address, uint64_t offset, void *to, size_t length)
{
    size_t count = hs_memory__read((uintptr_t)address, to, length);
    if (count || image->fd < 0)
        return count;
    long got = hs_system_pread(image->fd, to, length, offset);
    return got > 0 ? (size_t)got : 0;
}

static void find_build_id(struct image *image, uint64_t address, uint64_t offset, uint64_t length)
{
    static uint8_t notes[NOTES_LIMIT]; // under the stack table's lock
    if (length > sizeof notes)
        length = sizeof notes;
    length = read_part(image, address, offset, notes, (size_t)length);
    for (uint64_t at = 0; at + 12 <= length;) {
        uint32_t words[3];
        __builtin_memcpy(words, notes + at, sizeof words);
        uint64_t name = at + 12, description = name + ((words[0] + 3ull) & ~3ull);
        if (description + words[1] > length)
            return;
        if (words[2] == NT_GNU_BUILD_ID && words[0] == 4 && words[1] <= BUILD_ID_LIMIT && notes[name] == 'G') {
            __builtin_memcpy(image->build_id, notes + description, words[1]);
            image->build_id_length = words[1];
            return;
        }
        at = description + ((words[1] + 3ull) & ~3ull);
    }
}

#if UINTPTR_MAX > 0xffffffffu
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr program_header;
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr program_header;
#endif

static bool read_segment(const struct image *image, const elf_header *header, unsigned i, program_header *segment)
{
    uint64_t offset = header->e_phoff + i * sizeof *segment;
    return read_part(image, image->start + offset, offset, segment, sizeof *segment) == sizeof *segment;
}

static void read_image(struct image *image)
{
    elf_header header;
    program_header segment;
    image->bias = image->start;
    if (read_part(image, image->start, 0, &header, sizeof header) != sizeof header ||
        __builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof segment)
        return;
    uint64_t lowest = UINT64_MAX;
    for (unsigned i = 0; i < header.e_phnum && i < 64; i++) {
        if (!read_segment(image, &header, i, &segment))
            return;
        if (segment.p_type == PT_LOAD && segment.p_vaddr < lowest)
            lowest = segment.p_vaddr;
    }
    image->bias = image->start - (lowest == UINT64_MAX ? 0 : lowest & ~(uint64_t)(hs_memory__page_size() - 1));
    for (unsigned i = 0; i < header.e_phnum && i < 64 && !image->build_id_length; i++)
        if (read_segment(image, &header, i, &segment) && segment.p_type == PT_NOTE)
            find_build_id(image, image->bias + segment.p_vaddr, segment.p_offset, segment.p_memsz);
}

static void announce(const struct module *module, const char *path)
{
    uint8_t byte;
    struct image image = {.start = module->start, .fd = -1};
    if (path[0] == '/' && !hs_memory__read(module->start, &byte, 1))
        image.fd = (int)hs_system_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    read_image(&image);
    if (image.fd >= 0)
        hs_system_close(image.fd);
    hs_embed__remember(path);
    hs_journal__module(module->start, module->end, image.bias, image.build_id, image.build_id_length, path);
}

// ---- /proc/self/maps ------------------------------------------------------------------------------------------------

// Parses one line in place: "start-end perms offset device inode path".
static bool parse_line(char *line, struct mapping *mapping)
{
    const char *at = line;
    mapping->start = hs_text__parse(&at, 16);
    if (*at++ != '-')
        return false;
    mapping->end = hs_text__parse(&at, 16);
    if (*at++ != ' ')
        return false;
    mapping->executable = at[0] && at[1] && at[2] == 'x';
    for (; *at && *at != ' '; at++)
        continue;
    at += *at == ' ';
    mapping->offset = hs_text__parse(&at, 16);
    for (at += *at == ' '; *at && *at != ' '; at++)
        continue;
    at += *at == ' ';
    mapping->inode = hs_text__parse(&at, 10);
    while (*at == ' ')
        at++;
    mapping->path = at;
    return mapping->end > mapping->start;
}

// The group that the scan is collecting: mappings of one file, in address order.
struct group {
    struct module module;
    char path[PATH_LIMIT];
};

static bool same_code(const struct module *a, const struct module *b)
{
    return a->start == b->start && a->end == b->end && a->inode == b->inode;
}

static void keep_module(const struct module *module, const char *path)
{
    for (uint32_t i = 0; i < modules.count; i++)
        if (same_code(&modules.table[i], module)) {
            modules.table[i].present = true;
            return;
        }
    if (modules.count == MODULES_LIMIT)
        return;
    modules.table[modules.count] = *module;
    modules.table[modules.count++].present = true;
    if (path[0])
        announce(module, path);
}

static void finish_group(struct group *group)
{
    if (group->module.executable)
        keep_module(&group->module, group->path);
    group->module = (struct module){0};
    group->path[0] = 0;
}

static void add_mapping(struct group *group, const struct mapping *mapping)
{
    bool named = mapping->path[0] != 0;
    bool continues = named && mapping->inode == group->module.inode && mapping->offset != 0 &&
                     hs_text__equal(mapping->path, group->path);
    // .bss: the anonymous pages behind a module's file mappings belong to no code of their own.
    if (!named && !mapping->executable)
        return;
    if (!continues) {
        finish_group(group);
        struct hs_text text;
        hs_text__start(&text, group->path, sizeof group->path);
        hs_text__add(&text, mapping->path);
        group->module.start = mapping->start;
        group->module.inode = mapping->inode;
    }
    group->module.end = mapping->end;
    group->module.executable |= mapping->executable;
}

static void scan_text(int fd, struct group *group)
{
    static char buffer[READ_SIZE]; // under the stack table's lock
    size_t filled = 0;
    for (;;) {
        long got = hs_system_read(fd, buffer + filled, sizeof buffer - 1 - filled);
        if (got <= 0)
            return;
        filled += (size_t)got;
        size_t line = 0;
        for (size_t i = 0; i < filled; i++) {
            if (buffer[i] != '\n')
                continue;
            buffer[i] = 0;
            struct mapping mapping;
            if (parse_line(buffer + line, &mapping))
                add_mapping(group, &mapping);
            line = i + 1;
        }
        for (size_t i = line; i < filled; i++)
            buffer[i - line] = buffer[i];
        filled -= line;
    }
}

static bool scan(void)
{
    static struct group group; // under the stack table's lock
    if (!modules.table)
        modules.table = hs_memory__map(MODULES_LIMIT * sizeof *modules.table);
    long fd = hs_system_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0 && !modules.table)
        hs_system_close((int)fd);
    if (fd < 0 || !modules.table)
        return false;
    for (uint32_t i = 0; i < modules.count; i++)
        modules.table[i].present = false;
    scan_text((int)fd, &group);
    finish_group(&group);
    hs_system_close((int)fd);
    return true;
}

static void drop_missing(void (*unloaded)(uintptr_t start, uintptr_t end))
{
    for (uint32_t i = 0; i < modules.count;) {
        struct module *module = &modules.table[i];
        if (module->present) {
            i++;
            continue;
        }
        modules.recent = (struct module){0};
        hs_journal__unload(module->start);
        if (unloaded)
            unloaded(module->start, module->end);
        *module = modules.table[--modules.count];
    }
}

void hs_modules__see(uintptr_t pc)
{
    uintptr_t call = hs_modules__call_of(pc);
    if (known(call))
        return;
    if (modules.last_unknown_page == call >> 12)
        return;
    if (scan())
        modules.last_unknown_page = known(call) ? 0 : call >> 12;
}

void hs_modules__rescan(void (*unloaded)(uintptr_t start, uintptr_t end))
{
    if (modules.count && scan())
        drop_missing(unloaded);
}

void hs_modules__reset(void)
{
    modules.count = 0;
    modules.recent = (struct module){0};
    modules.last_unknown_page = 0;
}
