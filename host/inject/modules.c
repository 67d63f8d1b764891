// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/modules.h"

#include "host/base/path.h"
#include "host/base/strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = sizeof(uintptr_t), OWN_CLASS = sizeof(uintptr_t) == 8 ? ELFCLASS64 : ELFCLASS32 };

// ---- one file ------------------------------------------------------------------------------------------------------

const void *hs_elf_file__at(const struct hs_elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static int map_file(struct hs_elf_file *file, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(ElfW(Ehdr))) {
        close(fd);
        return -ENOEXEC;
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return -errno;
    file->bytes = bytes;
    file->size = (size_t)status.st_size;
    return 0;
}

int hs_elf_file__open(struct hs_elf_file *file, const char *path, uint16_t machine)
{
    *file = (struct hs_elf_file){0};
    int failed = map_file(file, path);
    if (failed)
        return failed;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(const void *)file->bytes;
    if (!memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == OWN_CLASS &&
        header->e_machine == machine && header->e_phentsize == sizeof(ElfW(Phdr))) {
        file->segments = hs_elf_file__at(file, header->e_phoff, header->e_phnum * sizeof(ElfW(Phdr)));
        file->segment_count = header->e_phnum;
    }
    if (file->segments && header->e_phoff % ALIGNMENT == 0)
        return 0;
    hs_elf_file__close(file);
    return -ENOEXEC;
}

void hs_elf_file__close(struct hs_elf_file *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->size);
    *file = (struct hs_elf_file){0};
}

static const ElfW(Shdr) * sections(const struct hs_elf_file *file, size_t *count)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(const void *)file->bytes;
    *count = header->e_shnum;
    if (header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % ALIGNMENT)
        return NULL;
    return hs_elf_file__at(file, header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr)));
}

bool hs_elf_file__symbols(const struct hs_elf_file *file, uint32_t type, struct hs_elf_symbols *symbols)
{
    size_t count;
    const ElfW(Shdr) *section = sections(file, &count);
    for (size_t i = 0; section && i < count; i++) {
        if (section[i].sh_type != type || section[i].sh_link >= count || section[i].sh_offset % ALIGNMENT)
            continue;
        const ElfW(Shdr) *names = &section[section[i].sh_link];
        symbols->symbols = hs_elf_file__at(file, section[i].sh_offset, section[i].sh_size);
        symbols->count = section[i].sh_size / sizeof(ElfW(Sym));
        symbols->names = hs_elf_file__at(file, names->sh_offset, names->sh_size);
        symbols->names_size = names->sh_size;
        return symbols->symbols && symbols->names && symbols->names_size &&
               symbols->names[symbols->names_size - 1] == 0;
    }
    return false;
}

const char *hs_elf_symbols__name(const struct hs_elf_symbols *symbols, size_t index)
{
    uint32_t at = symbols->symbols[index].st_name;
    return at < symbols->names_size ? symbols->names + at : "";
}

// ---- the modules of a process --------------------------------------------------------------------------------------

static enum hs_inject_module_role role_of(const char *path, bool is_program)
{
    const char *name = hs_path__name(path);
    if (is_program)
        return HS_INJECT_MODULE_PROGRAM;
    if (hs_string__begins_with(name, "libheapsonde-"))
        return HS_INJECT_MODULE_OURS;
    if (hs_string__begins_with(name, "libc.so") || hs_string__begins_with(name, "libc-2") ||
        hs_string__begins_with(name, "ld-musl-") || hs_string__begins_with(name, "libc.musl-"))
        return HS_INJECT_MODULE_LIBC;
    return hs_string__begins_with(name, "ld-linux") || hs_string__begins_with(name, "ld-2") ||
                   hs_string__begins_with(name, "ld64.so")
               ? HS_INJECT_MODULE_LOADER
               : HS_INJECT_MODULE_LIBRARY;
}

// Through the target's root folder, or, if it was removed or replaced, what the kernel has kept.
static int open_module(struct hs_elf_file *file, const struct hs_inject_target *target,
                       const struct hs_inject_mapping *mapping)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)target->pid, (unsigned long long)mapping->start,
             (unsigned long long)mapping->end);
    if (!hs_elf_file__open(file, path, target->arch->machine))
        return 0;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)target->pid, mapping->path);
    return hs_elf_file__open(file, path, target->arch->machine);
}

// False: the file was not loaded there but is only mapped.
static bool find_bias(const struct hs_elf_file *file, const struct hs_inject_mapping *mapping, uint64_t *bias)
{
    const uint64_t whole_pages = ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
    for (size_t i = 0; i < file->segment_count; i++) {
        const ElfW(Phdr) *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
            (segment->p_offset & whole_pages) != mapping->offset)
            continue;
        *bias = mapping->start - (segment->p_vaddr & whole_pages);
        return true;
    }
    return false;
}

static bool is_static(const struct hs_elf_file *file)
{
    for (size_t i = 0; i < file->segment_count; i++)
        if (file->segments[i].p_type == PT_INTERP)
            return false;
    return true;
}

static bool is_known(const struct hs_inject_modules *modules, const char *path)
{
    for (size_t i = 0; i < modules->count; i++)
        if (!strcmp(modules->each[i].path, path))
            return true;
    return false;
}

static void add_module(struct hs_inject_modules *modules, const struct hs_inject_target *target,
                       const struct hs_inject_mapping *mapping, const char *program)
{
    struct hs_inject_module module = {.role = role_of(mapping->path, !strcmp(mapping->path, program))};
    if (mapping->path[0] != '/' || !mapping->is_executable || is_known(modules, mapping->path) ||
        open_module(&module.file, target, mapping))
        return;
    module.is_static = module.role == HS_INJECT_MODULE_PROGRAM && is_static(&module.file);
    module.path = find_bias(&module.file, mapping, &module.bias) ? strdup(mapping->path) : NULL;
    if (module.path)
        modules->each[modules->count++] = module;
    else
        hs_elf_file__close(&module.file);
}

int hs_inject_modules__open(struct hs_inject_modules *modules, const struct hs_inject_target *target,
                            struct hs_error *error)
{
    char link[64], program[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)target->pid);
    ssize_t length = readlink(link, program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    modules->count = 0;
    modules->each = calloc(target->mapping_count + 1, sizeof *modules->each);
    if (!modules->each)
        return hs_error__set(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < target->mapping_count; i++)
        add_module(modules, target, &target->mappings[i], program);
    return 0;
}

void hs_inject_modules__close(struct hs_inject_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        hs_elf_file__close(&modules->each[i].file);
        free(modules->each[i].path);
    }
    free(modules->each);
    *modules = (struct hs_inject_modules){0};
}

// ---- functions -----------------------------------------------------------------------------------------------------

// In a program that was linked as static PIE, libc's functions are local ones.
static const ElfW(Sym) * find_symbol(const struct hs_inject_module *module, const char *name, bool is_function)
{
    struct hs_elf_symbols symbols;
    const ElfW(Sym) *local = NULL;
    if (!hs_elf_file__symbols(&module->file, module->is_static ? SHT_SYMTAB : SHT_DYNSYM, &symbols))
        return NULL;
    for (size_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.symbols[i];
        if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value ||
            (is_function && ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) ||
            strcmp(hs_elf_symbols__name(&symbols, i), name))
            continue;
        if (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL)
            return symbol;
        local = symbol;
    }
    return module->is_static ? local : NULL;
}

static struct hs_function find_in(const struct hs_inject_module *module, const char *name)
{
    const ElfW(Sym) *symbol = find_symbol(module, name, true);
    if (!symbol)
        return (struct hs_function){0};
    return (struct hs_function){module, module->bias + symbol->st_value, symbol->st_size};
}

struct hs_function hs_inject_modules__find(const struct hs_inject_modules *modules,
                                           const struct hs_inject_module *module, const char *name)
{
    if (module)
        return find_in(module, name);
    for (enum hs_inject_module_role role = HS_INJECT_MODULE_PROGRAM; role <= HS_INJECT_MODULE_LIBC; role++)
        for (size_t i = 0; i < modules->count; i++) {
            struct hs_function function = {0};
            if (modules->each[i].role == role)
                function = find_in(&modules->each[i], name);
            if (function.module)
                return function;
        }
    return (struct hs_function){0};
}

uint64_t hs_inject_modules__value(const struct hs_inject_module *module, const char *name)
{
    const ElfW(Sym) *symbol = find_symbol(module, name, false);
    return symbol && ELF64_ST_TYPE(symbol->st_info) != STT_TLS ? module->bias + symbol->st_value : 0;
}

uint64_t hs_inject_modules__find_any(const struct hs_inject_modules *modules, const char *name)
{
    uint64_t value = 0;
    for (size_t i = 0; i < modules->count && !value; i++)
        value = hs_inject_modules__value(&modules->each[i], name);
    return value;
}

static const struct hs_inject_module *static_program(const struct hs_inject_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->each[i].is_static)
            return &modules->each[i];
    return NULL;
}

bool hs_inject_modules__is_static(const struct hs_inject_modules *modules)
{
    return static_program(modules) != NULL;
}

bool hs_inject_modules__has_symbols(const struct hs_inject_modules *modules)
{
    const struct hs_inject_module *program = static_program(modules);
    struct hs_elf_symbols symbols;
    return program && hs_elf_file__symbols(&program->file, SHT_SYMTAB, &symbols);
}
