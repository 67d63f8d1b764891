// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Modules as the loader reports them (glibc >= 2.35), or else out of the own table, which is filled from
// /proc/self/maps. The table is an array of slots; a slot holds a module found during one generation of the rules.
#include "unwind/module.h"

#include "unwind/maps.h"
#include "unwind/rule_cache.h"

#include <elf.h>
#include <link.h>

// struct dl_find_object of glibc 2.35: an ABI that never changes.
struct loader_object {
    unsigned long long flags;
    void *map_start;
    void *map_end;
    void *link_map;
    void *eh_frame;
#ifdef __arm__
    int eh_count; // there eh_frame is the exception index
#endif
    unsigned long long reserved[7];
};
extern int _dl_find_object(void *pc, struct loader_object *object) __attribute__((weak));

static _Atomic bool loader_ignored;

void hs_module_ignore_loader(bool ignore)
{
    atomic_store_explicit(&loader_ignored, ignore, memory_order_relaxed);
}

// generation << 2 | SLOT_COMPLETE, or SLOT_BUSY while it is written. A slot of another generation is free.
enum { SLOTS = 256, SLOT_BUSY = 1, SLOT_COMPLETE = 2 };
struct slot {
    _Atomic uint32_t state;
    _Atomic uintptr_t start, end, eh_frame_hdr;
    _Atomic bool anonymous;
};
static struct slot slots[SLOTS];
static _Atomic uint32_t slots_used;

static uint32_t complete_state(uint32_t generation)
{
    return generation << 2 | SLOT_COMPLETE;
}

static bool read_slot(struct slot *slot, uint32_t generation, struct hs_module *module)
{
    if (atomic_load_explicit(&slot->state, memory_order_acquire) != complete_state(generation))
        return false;
    module->start = atomic_load_explicit(&slot->start, memory_order_relaxed);
    module->end = atomic_load_explicit(&slot->end, memory_order_relaxed);
    module->eh_frame_hdr = (const uint8_t *)atomic_load_explicit(&slot->eh_frame_hdr, memory_order_relaxed);
    module->anonymous = atomic_load_explicit(&slot->anonymous, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->state, memory_order_relaxed) == complete_state(generation);
}

static bool find_in_table(uintptr_t pc, uint32_t generation, struct hs_module *module)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_relaxed);
    for (uint32_t i = 0; i < used && i < SLOTS; i++)
        if (read_slot(&slots[i], generation, module) && pc - module->start < module->end - module->start)
            return true;
    return false;
}

static void raise_slots_used(uint32_t to)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_relaxed);
    while (used < to &&
           !atomic_compare_exchange_weak_explicit(&slots_used, &used, to, memory_order_relaxed, memory_order_relaxed))
        ;
}

// A full table only costs time: the module is looked up again.
static void add_to_table(const struct hs_module *module, uint32_t generation)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &slots[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
        if (state == complete_state(generation) || state == SLOT_BUSY)
            continue;
        if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, SLOT_BUSY, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&slot->start, module->start, memory_order_relaxed);
        atomic_store_explicit(&slot->end, module->end, memory_order_relaxed);
        atomic_store_explicit(&slot->eh_frame_hdr, (uintptr_t)module->eh_frame_hdr, memory_order_relaxed);
        atomic_store_explicit(&slot->anonymous, module->anonymous, memory_order_relaxed);
        atomic_store_explicit(&slot->state, complete_state(generation), memory_order_release);
        raise_slots_used(i + 1);
        return;
    }
}

// The program headers when they lie in the module's first page, which is mapped together with the ELF header.
static const ElfW(Phdr) * program_headers(uintptr_t start, size_t *count)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
    const unsigned char *ident = header->e_ident;
    if (ident[0] != 0x7f || ident[1] != 'E' || ident[2] != 'L' || ident[3] != 'F')
        return NULL;
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff % sizeof(uintptr_t) ||
        header->e_phoff > HS_PAGE_SIZE || header->e_phnum * sizeof(ElfW(Phdr)) > HS_PAGE_SIZE - header->e_phoff)
        return NULL;
    *count = header->e_phnum;
    return (const ElfW(Phdr) *)(start + header->e_phoff);
}

static bool read_bias(uintptr_t start, const ElfW(Phdr) * headers, size_t count, uintptr_t *bias)
{
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD) {
            *bias = start - (headers[i].p_vaddr & ~(uintptr_t)(HS_PAGE_SIZE - 1));
            return headers[i].p_offset < HS_PAGE_SIZE;
        }
    return false;
}

// The program headers and the difference between addresses in memory and in the file. NULL: they cannot be read.
static const ElfW(Phdr) * open_headers(const struct hs_module *module, size_t *count, uintptr_t *bias)
{
    const ElfW(Phdr) *headers = module->anonymous ? NULL : program_headers(module->start, count);
    return headers && read_bias(module->start, headers, *count, bias) ? headers : NULL;
}

bool hs_module_bias(const struct hs_module *module, uintptr_t *bias)
{
    size_t count;
    return open_headers(module, &count, bias) != NULL;
}

uintptr_t hs_module_entry(const struct hs_module *module)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->start;
    uintptr_t bias;
    return hs_module_bias(module, &bias) && header->e_entry ? (bias + header->e_entry) & ~(uintptr_t)1 : 0;
}

bool hs_module_segment(const struct hs_module *module, const void *address, struct hs_range *segment)
{
    uintptr_t at = (uintptr_t)address, bias;
    size_t count;
    if (at - module->start >= module->end - module->start)
        return false;
    const ElfW(Phdr) *headers = program_headers(module->start, &count);
    if (!headers || !read_bias(module->start, headers, count, &bias)) {
        *segment = (struct hs_range){(const uint8_t *)module->start, (const uint8_t *)module->end};
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const ElfW(Phdr) *header = &headers[i];
        uintptr_t start = bias + header->p_vaddr;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_R) || at - start >= header->p_filesz)
            continue;
        *segment = (struct hs_range){(const uint8_t *)start, (const uint8_t *)start + header->p_filesz};
        return true;
    }
    return false;
}

bool hs_module_load(const struct hs_module *module, uintptr_t address, struct hs_module_load *load)
{
    uintptr_t bias;
    size_t count;
    const ElfW(Phdr) *headers = open_headers(module, &count, &bias);
    if (!headers)
        return false;
    for (size_t i = 0; i < count; i++) {
        uintptr_t start = bias + headers[i].p_vaddr;
        if (headers[i].p_type != PT_LOAD || address - start >= headers[i].p_filesz)
            continue;
        *load = (struct hs_module_load){start, headers[i].p_offset, headers[i].p_filesz};
        return true;
    }
    return false;
}

bool hs_module_data(const struct hs_module *module, size_t number, struct hs_range *data)
{
    uintptr_t bias;
    size_t count;
    const ElfW(Phdr) *headers = open_headers(module, &count, &bias);
    if (!headers)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_W) || number--)
            continue;
        const uint8_t *start = (const uint8_t *)(bias + headers[i].p_vaddr);
        *data = (struct hs_range){start, start + headers[i].p_filesz};
        return true;
    }
    return false;
}

bool hs_module_header(const struct hs_module *module, uint32_t type, struct hs_range *range)
{
    uintptr_t bias;
    size_t count;
    const ElfW(Phdr) *headers = open_headers(module, &count, &bias);
    if (!headers)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type != type)
            continue;
        const uint8_t *start = (const uint8_t *)(bias + headers[i].p_vaddr);
        *range = (struct hs_range){start, start + headers[i].p_memsz};
        return true;
    }
    return false;
}

static bool find_through_loader(uintptr_t pc, struct hs_module *module)
{
    struct loader_object object;
    if (!_dl_find_object || atomic_load_explicit(&loader_ignored, memory_order_relaxed))
        return false;
    if (_dl_find_object((void *)pc, &object))
        return false;
    // Of a static executable the loader knows the text only: neither tables nor headers.
    size_t count;
    if (!object.eh_frame && !program_headers((uintptr_t)object.map_start, &count))
        return false;
    module->start = (uintptr_t)object.map_start;
    module->end = (uintptr_t)object.map_end;
#ifdef __arm__
    module->eh_frame_hdr = NULL;
#else
    module->eh_frame_hdr = object.eh_frame;
#endif
    module->anonymous = false;
    return true;
}

// Completes a module of which only the place of the ELF header is known.
static bool read_module(uintptr_t start, struct hs_module *module)
{
    size_t count;
    uintptr_t bias;
    const ElfW(Phdr) *headers = program_headers(start, &count);
    if (!headers || !read_bias(start, headers, count, &bias))
        return false;
    *module = (struct hs_module){start, start, NULL, false};
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            module->eh_frame_hdr = (const uint8_t *)(bias + headers[i].p_vaddr);
        uintptr_t end = bias + headers[i].p_vaddr + headers[i].p_memsz;
        if (headers[i].p_type == PT_LOAD && end > module->end)
            module->end = end;
    }
    return true;
}

static bool find_in_maps(uintptr_t pc, struct hs_module *module)
{
    struct hs_mapping mapping;
    if (!hs_maps_find(pc, &mapping) || !mapping.executable)
        return false;
    if (mapping.image_start && read_module(mapping.image_start, module) &&
        pc - module->start < module->end - module->start)
        return true;
    *module = (struct hs_module){mapping.start, mapping.end, NULL, true};
    return true;
}

// Addresses that are no code. A walk may meet the same one each time (a coroutine's first frame that holds anything),
// and /proc/self/maps is far too slow for that: an answer is taken again for a while. It is wrong at most until code
// that the loader does not know has been asked for ANSWERS times.
enum { NO_CODE = 64, ANSWERS = 1000 };
struct no_code {
    _Atomic uintptr_t page_and_generation;
    _Atomic uint32_t asked;
};
static struct no_code no_code[NO_CODE];

static uintptr_t no_code_key(uintptr_t pc, uint32_t generation)
{
    return (uintptr_t)generation << (HS_ARCH_ADDRESS_BITS - 12) | pc / HS_PAGE_SIZE;
}

static struct no_code *no_code_slot(uintptr_t pc)
{
    uintptr_t page = pc / HS_PAGE_SIZE;
    return &no_code[(page ^ page >> 6 ^ page >> 12) % NO_CODE];
}

static bool known_not_to_be_code(uintptr_t pc, uint32_t generation)
{
    struct no_code *slot = no_code_slot(pc);
    if (atomic_load_explicit(&slot->page_and_generation, memory_order_relaxed) != no_code_key(pc, generation))
        return false;
    return atomic_fetch_add_explicit(&slot->asked, 1, memory_order_relaxed) % ANSWERS != ANSWERS - 1;
}

static void remember_no_code(uintptr_t pc, uint32_t generation)
{
    struct no_code *slot = no_code_slot(pc);
    atomic_store_explicit(&slot->page_and_generation, no_code_key(pc, generation), memory_order_relaxed);
}

bool hs_module_find(uintptr_t pc, struct hs_module *module)
{
    if (find_through_loader(pc, module))
        return true;
    uint32_t generation = hs_rule_generation();
    if (find_in_table(pc, generation, module))
        return true;
    if (known_not_to_be_code(pc, generation))
        return false;
    if (!find_in_maps(pc, module)) {
        remember_no_code(pc, generation);
        return false;
    }
    add_to_table(module, generation);
    return true;
}
