// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The ELF files in a process, and the functions that they define. The files are not trusted.
#ifndef HEAPSONDE_HOST_INJECT_MODULES_H
#define HEAPSONDE_HOST_INJECT_MODULES_H

#include "host/inject/target.h"

#include <link.h>

// An ELF file of this machine's class, mapped.
struct hs_elf_file {
    const uint8_t *bytes;
    size_t size;
    const ElfW(Phdr) * segments;
    size_t segment_count;
};

int hs_elf_file__open(struct hs_elf_file *file, const char *path, uint16_t machine);
void hs_elf_file__close(struct hs_elf_file *file);
// NULL: outside of the file.
const void *hs_elf_file__at(const struct hs_elf_file *file, uint64_t offset, uint64_t size);

struct hs_elf_symbols {
    const ElfW(Sym) * symbols;
    size_t count;
    const char *names;
    size_t names_size;
};

// `type`: SHT_DYNSYM or SHT_SYMTAB. False: there are none.
bool hs_elf_file__symbols(const struct hs_elf_file *file, uint32_t type, struct hs_elf_symbols *symbols);
const char *hs_elf_symbols__name(const struct hs_elf_symbols *symbols, size_t index); // "" if it is damaged

enum hs_inject_module_role {
    HS_INJECT_MODULE_PROGRAM,
    HS_INJECT_MODULE_LIBRARY,
    HS_INJECT_MODULE_LIBC,
    HS_INJECT_MODULE_LOADER,
    HS_INJECT_MODULE_OURS
};

struct hs_inject_module {
    struct hs_elf_file file;
    char *path; // of the mapping
    uint64_t bias;
    enum hs_inject_module_role role;
    bool is_static; // the whole program
};

struct hs_inject_modules {
    struct hs_inject_module *each;
    size_t count;
};

struct hs_function {
    const struct hs_inject_module *module; // NULL: none
    uint64_t address;
    uint64_t size;
};

// The target's mappings have been read.
int hs_inject_modules__open(struct hs_inject_modules *modules, const struct hs_inject_target *target,
                            struct hs_error *error);
void hs_inject_modules__close(struct hs_inject_modules *modules);

// Only in `module`, or, if it is NULL, in the first module in the order of the dynamic linker that defines it.
struct hs_function hs_inject_modules__find(const struct hs_inject_modules *modules,
                                           const struct hs_inject_module *module, const char *name);

// The value of a symbol of any kind that is exported, e.g. of data; 0: none.
uint64_t hs_inject_modules__find_any(const struct hs_inject_modules *modules, const char *name);

// The same in one module.
uint64_t hs_inject_modules__value(const struct hs_inject_module *module, const char *name);

// Whether the program is linked statically, and whether it is and has a table of symbols.
bool hs_inject_modules__is_static(const struct hs_inject_modules *modules);
bool hs_inject_modules__has_symbols(const struct hs_inject_modules *modules);

#endif
