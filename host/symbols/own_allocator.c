// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/own_allocator.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

// The more specific names come first: "malloc" may be a wrapper of one of them.
static const char *const allocators[] = {"je_malloc", "_rjem_malloc",  "mi_malloc", "tc_malloc", "rpmalloc",
                                         "sn_malloc", "sn_rust_alloc", "dlmalloc",  "malloc"};

// Symbols to which a sanitizer's compiler refers, and which its runtime defines.
static const struct {
    const char *symbol, *words;
} sanitizers[] = {
    {"__asan_init", "AddressSanitizer (-fsanitize=address)"},
    {"__hwasan_init", "HWAddressSanitizer (-fsanitize=hwaddress)"},
    {"__tsan_init", "ThreadSanitizer (-fsanitize=thread)"},
    {"__msan_init", "MemorySanitizer (-fsanitize=memory)"},
    {"__lsan_init", "LeakSanitizer (-fsanitize=leak)"},
    {"__memprof_init", "the compiler's memory profiler (-fmemory-profile)"},
    {"__dfsan_arg_tls", "DataFlowSanitizer (-fsanitize=dataflow)"},
    {"__lsan_is_turned_off", "AddressSanitizer or LeakSanitizer"}, // all that a stripped program with gcc's has
};

enum {
    ALLOCATORS = sizeof(allocators) / sizeof(allocators[0]),
    SANITIZERS = sizeof(sanitizers) / sizeof(sanitizers[0])
};

// The place of a symbol in a table; SIZE_MAX: it is not in it.
typedef size_t place_function(const char *name, const GElf_Sym *symbol);

static bool is_function(const GElf_Sym *symbol)
{
    return symbol->st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol->st_info) == STT_FUNC;
}

static size_t place_of_allocator(const char *name, const GElf_Sym *symbol)
{
    if (!is_function(symbol))
        return SIZE_MAX;
    for (size_t i = 0; i < ALLOCATORS; i++) {
        if (!strcmp(name, allocators[i]))
            return i;
    }
    return SIZE_MAX;
}

static size_t place_of_sanitizer(const char *name, const GElf_Sym *symbol)
{
    (void)symbol;
    if (name[0] != '_' || name[1] != '_')
        return SIZE_MAX;
    for (size_t i = 0; i < SANITIZERS; i++) {
        if (!strcmp(name, sanitizers[i].symbol))
            return i;
    }
    return SIZE_MAX;
}

static size_t first_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, place_function *place_of)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    size_t first = SIZE_MAX;
    GElf_Sym symbol;
    for (size_t i = 0; i < count && gelf_getsym(data, (int)i, &symbol); i++) {
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        size_t place = name ? place_of(name, &symbol) : SIZE_MAX;
        if (place < first)
            first = place;
    }
    return first;
}

static size_t first_in_table(Elf *elf, uint32_t type, place_function *place_of)
{
    size_t first = SIZE_MAX;
    Elf_Scn *section = NULL;
    while (elf && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        bool wanted = gelf_getshdr(section, &header) && header.sh_type == type;
        size_t place = wanted ? first_in(elf, section, &header, place_of) : SIZE_MAX;
        if (place < first)
            first = place;
    }
    return first;
}

static Elf *open_elf(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    elf_version(EV_CURRENT);
    return *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
}

static void close_elf(Elf *elf, int fd)
{
    elf_end(elf);
    if (fd >= 0)
        close(fd);
}

static bool is_operator(const char *name, const GElf_Sym *symbol)
{
    return (!strcmp(name, "_Znwm") || !strcmp(name, "_Znwj")) && is_function(symbol);
}

// Takes the symbol if it says more than what was found before.
static void take_symbol(struct hs_own_functions *functions, size_t *first, const char *name, const GElf_Sym *symbol)
{
    size_t place = place_of_allocator(name, symbol);
    if (place < *first) {
        *first = place;
        functions->allocator = allocators[place];
        functions->allocator_address = symbol->st_value;
        functions->allocator_size = symbol->st_size;
    }
    if (is_operator(name, symbol)) {
        functions->new_name = "operator new";
        functions->new_address = symbol->st_value;
        functions->new_size = symbol->st_size;
    }
}

static void take_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, size_t *first,
                         struct hs_own_functions *functions)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    GElf_Sym symbol;
    for (size_t i = 0; i < count && gelf_getsym(data, (int)i, &symbol); i++) {
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name)
            take_symbol(functions, first, name, &symbol);
    }
}

void hs_own_functions(const char *path, struct hs_own_functions *functions)
{
    int fd;
    Elf *elf = open_elf(path, &fd);
    Elf_Scn *section = NULL;
    size_t first = SIZE_MAX;
    *functions = (struct hs_own_functions){0};
    while (elf && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            take_symbols(elf, section, &header, &first, functions);
    }
    close_elf(elf, fd);
}

const char *hs_own_allocator(const char *path)
{
    struct hs_own_functions functions;
    hs_own_functions(path, &functions);
    return functions.allocator;
}

// Of what a program calls; the first ones come from an allocator.
static const char *const sources[] = {"malloc", "calloc",   "realloc", "posix_memalign", "aligned_alloc",
                                      "strdup", "__strdup", "_Znwm",   "_Znwj",          "_Znam",
                                      "_Znaj",  "mmap",     "mmap64",  "sbrk",           "brk"};
enum { SOURCES = sizeof(sources) / sizeof(sources[0]), ALLOCATING_SOURCES = 11 };

static size_t place_of_source(const char *name, const GElf_Sym *symbol)
{
    for (size_t i = 0; symbol->st_shndx == SHN_UNDEF && i < SOURCES; i++) {
        if (!strcmp(name, sources[i]))
            return i;
    }
    return SIZE_MAX;
}

const char *hs_maps_alone(const char *path)
{
    int fd;
    Elf *elf = open_elf(path, &fd);
    const size_t first = first_in_table(elf, SHT_DYNSYM, place_of_source);
    close_elf(elf, fd);
    return first >= ALLOCATING_SOURCES && first < SOURCES ? sources[first] : NULL;
}

uint64_t hs_loaded_size(const char *path)
{
    int fd;
    uint64_t size = 0;
    size_t count = 0;
    GElf_Phdr segment;
    Elf *elf = open_elf(path, &fd);
    if (elf && elf_getphdrnum(elf, &count))
        count = 0;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
        size += segment.p_type == PT_LOAD ? segment.p_memsz : 0;
    close_elf(elf, fd);
    return size;
}

const char *hs_sanitizer(const char *path)
{
    int fd;
    Elf *elf = open_elf(path, &fd);
    size_t first = first_in_table(elf, SHT_DYNSYM, place_of_sanitizer);
    // A runtime that is linked in may keep its own name to itself, but not malloc.
    bool may_hide = first >= SANITIZERS - 1 && first_in_table(elf, SHT_DYNSYM, place_of_allocator) < ALLOCATORS;
    size_t hidden = may_hide ? first_in_table(elf, SHT_SYMTAB, place_of_sanitizer) : SIZE_MAX;
    if (hidden < first)
        first = hidden;
    close_elf(elf, fd);
    return first < SANITIZERS ? sanitizers[first].words : NULL;
}
