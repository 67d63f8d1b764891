// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/modules.h"

#include "arch/system.h"
#include "runtime/embed.h"
#include "runtime/image.h"
#include "runtime/journal.h"
#include "runtime/memory.h"
#include "runtime/tables.h"
#include "runtime/text.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

enum { MODULES_LIMIT = 4096, PATH_LIMIT = 1024, READ_SIZE = 16384 };

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
    struct module recent;                             // the last one met
    uintptr_t last_unknown_page;                      // code that no scan explains is not scanned for again at once
    void (*unloaded)(uintptr_t start, uintptr_t end); // of a rescan, for what something else took the place of
    bool dropped;
    bool scanned; // what comes later may be unloaded again, in a forked child too
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

static void announce(const struct module *module, const char *path)
{
    struct hs_image image;
    hs_image__read(&image, module->start, path);
    hs_embed__remember(path);
    if (!modules.scanned)
        hs_tables__note((uintptr_t)image.tables, (uintptr_t)image.tables_end);
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

static void drop(struct module *module)
{
    modules.dropped = true;
    modules.recent = (struct module){0};
    if (modules.unloaded)
        modules.unloaded(module->start, module->end);
    hs_journal__unload(module->start);
    *module = modules.table[--modules.count];
}

// Ends what was where the module is now, before that is announced.
static void drop_below(const struct module *module)
{
    for (uint32_t i = 0; modules.unloaded && i < modules.count;)
        if (modules.table[i].start < module->end && module->start < modules.table[i].end)
            drop(&modules.table[i]);
        else
            i++;
}

static void keep_module(const struct module *module, const char *path)
{
    for (uint32_t i = 0; i < modules.count; i++)
        if (same_code(&modules.table[i], module)) {
            modules.table[i].present = true;
            return;
        }
    drop_below(module);
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
    long fd = HS_SYSTEM_OPEN_OWN("maps");
    if (fd >= 0 && !modules.table)
        hs_system_close((int)fd);
    if (fd < 0 || !modules.table)
        return false;
    for (uint32_t i = 0; i < modules.count; i++)
        modules.table[i].present = false;
    scan_text((int)fd, &group);
    finish_group(&group);
    modules.scanned = true;
    hs_system_close((int)fd);
    return true;
}

static void drop_missing(void)
{
    for (uint32_t i = 0; i < modules.count;)
        if (modules.table[i].present)
            i++;
        else
            drop(&modules.table[i]);
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

bool hs_modules__rescan(void (*unloaded)(uintptr_t start, uintptr_t end))
{
    modules.last_unknown_page = 0;
    modules.unloaded = unloaded;
    modules.dropped = false;
    if (modules.count && scan())
        drop_missing();
    modules.unloaded = NULL;
    return modules.dropped;
}

void hs_modules__reset(void)
{
    modules.count = 0;
    modules.recent = (struct module){0};
    modules.last_unknown_page = 0;
}
