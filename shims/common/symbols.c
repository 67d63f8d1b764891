// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/common/symbols.h"

#include "arch/system.h"
#include "runtime/memory.h"
#include "runtime/text.h"
#include "unwind/maps.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

extern struct r_debug _r_debug __attribute__((weak));        // glibc
extern struct r_debug *_dl_debug_addr __attribute__((weak)); // musl, which does not fill DT_MIPS_RLD_MAP_REL
extern ElfW(Dyn) _DYNAMIC[];                                 // musl's <link.h> does not say so

struct module_tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
    const uint16_t *versions;
};

// ---- the list of loaded modules ------------------------------------------------------------------------------------

#ifndef DT_MIPS_RLD_MAP_REL
#define DT_MIPS_RLD_MAP_REL 0x70000035
#endif

// DT_DEBUG; MIPS keeps its dynamic section read-only, and there the entry says where the pointer is.
static const struct r_debug *debug_of_entry(const ElfW(Dyn) * entry)
{
    if (entry->d_tag == DT_DEBUG)
        return (const struct r_debug *)entry->d_un.d_ptr;
#ifdef __mips__
    if (entry->d_tag == DT_MIPS_RLD_MAP)
        return *(const struct r_debug *const *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_MIPS_RLD_MAP_REL)
        return *(const struct r_debug *const *)((uintptr_t)entry + entry->d_un.d_val);
#endif
    return NULL;
}

// The debugger's entrance in the program's dynamic section.
static const struct r_debug *search_debug(void)
{
    if (&_r_debug && _r_debug.r_map)
        return &_r_debug;
    if (&_dl_debug_addr && _dl_debug_addr && _dl_debug_addr->r_map)
        return _dl_debug_addr;
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)hs_memory__auxiliary(AT_PHDR);
    unsigned long count = hs_memory__auxiliary(AT_PHNUM);
    uintptr_t bias = 0;
    bool is_placed = false; // a static program that was linked as PIE does not say where it is
    for (unsigned long i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR) {
            bias = (uintptr_t)headers - headers[i].p_vaddr;
            is_placed = true;
        }
    for (unsigned long i = 0; is_placed && i < count; i++) {
        if (headers[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(bias + headers[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            const struct r_debug *debug = debug_of_entry(entry);
            if (debug)
                return debug;
        }
    }
    return NULL;
}

static const struct r_debug *find_debug(void)
{
    static const struct r_debug *known;
    const struct r_debug *debug = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!debug) {
        debug = search_debug();
        __atomic_store_n(&known, debug, __ATOMIC_RELAXED);
    }
    return debug;
}

// The loader relocates these pointers on some architectures and leaves them relative on others and in the vdso.
static const void *table_at(const struct link_map *module, ElfW(Addr) value)
{
    return (const void *)(value < module->l_addr ? module->l_addr + value : value);
}

static struct module_tables read_tables(const struct link_map *module)
{
    struct module_tables tables = {0};
    for (const ElfW(Dyn) *entry = module->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            tables.symbols = table_at(module, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            tables.strings = table_at(module, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_GNU_HASH)
            tables.gnu_hash = table_at(module, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_HASH)
            tables.hash = table_at(module, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_VERSYM)
            tables.versions = table_at(module, entry->d_un.d_ptr);
    }
    return tables;
}

// ---- one module's symbols ------------------------------------------------------------------------------------------

enum { NO_MATCH, OLD_VERSION, MATCH, HIDDEN_VERSION = 0x8000 };

// A hidden version is one that only programs linked long ago mean.
static int match(const struct module_tables *tables, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];
    unsigned type = symbol->st_info & 15;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || (type > STT_FUNC && type != STT_GNU_IFUNC) ||
        !hs_text__equal(tables->strings + symbol->st_name, name))
        return NO_MATCH;
    return tables->versions && tables->versions[index] & HIDDEN_VERSION ? OLD_VERSION : MATCH;
}

// Keeps the best match in *best; true when it cannot get better.
static bool consider(const struct module_tables *tables, uint32_t index, const char *name, uint32_t *best)
{
    int quality = match(tables, index, name);
    if (quality == MATCH || (quality == OLD_VERSION && *best == 0))
        *best = index;
    return quality == MATCH;
}

static uint32_t find_by_gnu_hash(const struct module_tables *tables, const char *name)
{
    uint32_t hash = 5381, best = 0;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t bucket_count = tables->gnu_hash[0], first = tables->gnu_hash[1], bloom_size = tables->gnu_hash[2];
    const uint32_t *buckets = tables->gnu_hash + 4 + bloom_size * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
    for (; index >= first && index != 0; index++) {
        uint32_t seen = chain[index - first];
        if ((seen | 1) == (hash | 1) && consider(tables, index, name, &best))
            break;
        if (seen & 1)
            break;
    }
    return best;
}

static uint32_t find_by_hash(const struct module_tables *tables, const char *name)
{
    uint32_t hash = 0, best = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    uint32_t bucket_count = tables->hash[0], count = tables->hash[1];
    const uint32_t *buckets = tables->hash + 2, *chain = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
    for (uint32_t steps = 0; index && index < count && steps < count; steps++, index = chain[index])
        if (consider(tables, index, name, &best))
            break;
    return best;
}

static void *find_in(const struct link_map *module, const char *name)
{
    struct module_tables tables = read_tables(module);
    if (!tables.symbols || !tables.strings)
        return NULL;
    uint32_t index = 0;
    if (tables.gnu_hash)
        index = find_by_gnu_hash(&tables, name);
    else if (tables.hash)
        index = find_by_hash(&tables, name);
    if (!index)
        return NULL;
    const ElfW(Sym) *symbol = &tables.symbols[index];
    void *address = (void *)(module->l_addr + symbol->st_value);
    if ((symbol->st_info & 15) == STT_GNU_IFUNC)
        address = ((void *(*)(void))address)();
    return address;
}

static void *find_from(const struct link_map *module, const struct link_map *end, const char *name)
{
    for (; module && module != end; module = module->l_next) {
        void *found = find_in(module, name);
        if (found)
            return found;
    }
    return NULL;
}

static const struct link_map *find_own(const struct link_map *first)
{
    const struct link_map *module = first;
    while (module && module->l_ld != _DYNAMIC)
        module = module->l_next;
    return module;
}

void *hs_symbols__find(const char *name)
{
    const struct r_debug *debug = find_debug();
    const struct link_map *first = debug ? debug->r_map : NULL;
    const struct link_map *own = find_own(first);
    void *found = own ? find_from(own->l_next, NULL, name) : NULL;
    return found ? found : find_from(first, own, name);
}

// Modules do not interleave: the nearest dynamic section's module whose base is below.
static const struct link_map *module_of(const void *address)
{
    const struct r_debug *debug = find_debug();
    const struct link_map *best = NULL;
    for (const struct link_map *module = debug ? debug->r_map : NULL; module; module = module->l_next)
        if (module->l_addr <= (uintptr_t)address && (!best || module->l_addr >= best->l_addr))
            best = module;
    return best;
}

void *hs_symbols__find_beside(const void *address, const char *name)
{
    const struct link_map *module = module_of(address);
    return module ? find_in(module, name) : NULL;
}

void *hs_symbols__find_in(uintptr_t start, const char *name)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
    struct link_map module = {0};
    bool is_placed = false;
    if (__builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_phoff % sizeof(uintptr_t) || header->e_phoff > HS_PAGE_SIZE ||
        header->e_phnum * sizeof(ElfW(Phdr)) > HS_PAGE_SIZE - header->e_phoff)
        return NULL;
    const ElfW(Phdr) *entries = (const ElfW(Phdr) *)(start + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (entries[i].p_type == PT_LOAD && !is_placed) {
            module.l_addr = start - (entries[i].p_vaddr - entries[i].p_offset);
            is_placed = true;
        } else if (entries[i].p_type == PT_DYNAMIC) {
            module.l_ld = (ElfW(Dyn) *)(module.l_addr + entries[i].p_vaddr);
        }
    }
    return is_placed ? find_in(&module, name) : NULL;
}

uintptr_t hs_symbols__module_of(const void *address)
{
    const struct link_map *module = module_of(address);
    return module ? module->l_addr : 0;
}

const char *hs_symbols__file_of(const void *address)
{
    const struct link_map *module = module_of(address);
    return module && module->l_name ? module->l_name : "";
}
