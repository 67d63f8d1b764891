// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/ctl/addresses.h"

#include "host/symbols/elf_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct addresses_module {
    uint64_t start, end, offset;
    char path[PATH_MAX];      // as the process has it
    char file[PATH_MAX + 64]; // where it is from here
    struct hs_probe probe;
    int number; // in the session, -1: not yet there
};

struct hs_addresses {
    pid_t pid;
    char *maps;
    struct hs_symbols *symbols;
    struct addresses_module **modules; // executable mappings, by start
    size_t count;
};

static int open_file(void *context)
{
    const struct addresses_module *module = context;
    int fd = open(module->file, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool add_module(struct hs_addresses *self, const struct addresses_module *found)
{
    struct addresses_module **more = realloc(self->modules, (self->count + 1) * sizeof(*more));
    struct addresses_module *module = malloc(sizeof(*module));
    if (more)
        self->modules = more;
    if (!more || !module) {
        free(module);
        return false;
    }
    *module = *found;
    module->number = -1;
    snprintf(module->file, sizeof(module->file), "/proc/%ld/root%s", (long)self->pid, module->path);
    self->modules[self->count++] = module;
    return true;
}

static bool parse_maps(struct hs_addresses *self)
{
    static const char deleted[] = " (deleted)";
    static struct addresses_module module;
    for (const char *line = self->maps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char permissions[8];
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &module.start, &module.end, permissions,
                   &module.offset, &at) < 4 ||
            !at || permissions[2] != 'x' || line[at] != '/')
            continue;
        size_t length = strcspn(line + at, "\n");
        if (length > sizeof(deleted) &&
            !strncmp(line + at + length - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1))
            length -= sizeof(deleted) - 1;
        if (length >= sizeof(module.path))
            continue;
        memcpy(module.path, line + at, length);
        module.path[length] = 0;
        if (!add_module(self, &module))
            return false;
    }
    return true;
}

struct hs_addresses *hs_addresses__create(pid_t pid, char *maps)
{
    struct hs_symbols_options options = {0};
    struct hs_addresses *self = calloc(1, sizeof(*self));
    if (!self) {
        free(maps);
        return NULL;
    }
    self->pid = pid;
    self->maps = maps;
    self->symbols = hs_symbols__create(&options);
    if (self->symbols && parse_maps(self))
        return self;
    hs_addresses__destroy(self);
    return NULL;
}

void hs_addresses__destroy(struct hs_addresses *self)
{
    if (!self)
        return;
    if (self->symbols)
        hs_symbols__destroy(self->symbols);
    for (size_t i = 0; i < self->count; i++)
        free(self->modules[i]);
    free(self->modules);
    free(self->maps);
    free(self);
}

const char *hs_addresses__maps(const struct hs_addresses *self)
{
    return self->maps;
}

static struct addresses_module *find(struct hs_addresses *self, uint64_t address)
{
    for (size_t i = 0; i < self->count; i++)
        if (address >= self->modules[i]->start && address < self->modules[i]->end)
            return self->modules[i];
    return NULL;
}

// The build id says whether a file of the same name on this machine is the one that the process has.
static int number_of(struct hs_addresses *self, struct addresses_module *module)
{
    if (module->number >= 0)
        return module->number;
    if (hs_probe__file(&module->probe, module->file))
        module->probe.build_id_length = 0;
    struct hs_symbols_module description = {
        .start = module->start,
        .bias = module->start - module->offset,
        .bias_of_bytes = true,
        .mapped_offset = module->offset,
        .path = module->path,
        .build_id = module->probe.build_id_length ? module->probe.build_id : NULL,
        .build_id_length = module->probe.build_id_length,
        .open_copy = open_file,
        .context = module,
    };
    module->number = hs_symbols__add_module(self->symbols, &description);
    return module->number;
}

const struct hs_frames *hs_addresses__frames(struct hs_addresses *self, uint64_t address)
{
    struct addresses_module *module = find(self, address);
    // The session subtracts one from a return address.
    return module ? hs_symbols__resolve(self->symbols, number_of(self, module), address + 1) : NULL;
}

void hs_addresses__print(struct hs_addresses *self, FILE *out, uint64_t address)
{
    const struct hs_frames *frames = hs_addresses__frames(self, address);
    for (uint32_t i = 0; frames && i < frames->count; i++)
        fprintf(out, "%s%s", i ? "--" : "", frames->frame[i].function);
}
