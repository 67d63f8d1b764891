// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Modules as the loader reports them (glibc >= 2.35), or else out of the own table, which is filled from
// /proc/self/maps. The table is an array of slots; a slot holds a module found during one generation of the rules.
#include "unwind/module.h"

#include "arch/system.h"
#include "unwind/maps.h"
#include "unwind/rule_cache.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>

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

// The program headers when they lie in the module's first page, which is mapped together with the ELF header.
static const ElfW(Phdr) * program_headers(uintptr_t start, size_t *count)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
    if (__builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff % sizeof(uintptr_t) ||
        header->e_phoff > HS_PAGE_SIZE || header->e_phnum * sizeof(ElfW(Phdr)) > HS_PAGE_SIZE - header->e_phoff)
        return NULL;
    *count = header->e_phnum;
    return (const ElfW(Phdr) *)(start + header->e_phoff);
}

static bool read_bias(uintptr_t start, const ElfW(Phdr) * header, size_t count, uintptr_t *bias)
{
    for (; count--; header++)
        if (header->p_type == PT_LOAD) {
            *bias = start - (header->p_vaddr & ~(uintptr_t)(HS_PAGE_SIZE - 1));
            return header->p_offset < HS_PAGE_SIZE;
        }
    return false;
}

// The program headers and the difference between addresses in memory and in the file. NULL: they cannot be read.
static __attribute__((noinline)) const ElfW(Phdr) *
    open_headers(const struct hs_module *module, size_t *count, uintptr_t *bias)
{
    const ElfW(Phdr) *headers = module->anonymous ? NULL : program_headers(module->start, count);
    return headers && read_bias(module->start, headers, *count, bias) ? headers : NULL;
}

// The loaded part of the file around `address` with one of `flags`. False: none. If the headers cannot be read, the
// load has no size.
static __attribute__((noinline)) bool find_load(const struct hs_module *module, uintptr_t address, uint32_t flags,
                                                struct hs_module_load *load)
{
    uintptr_t bias;
    size_t count;
    const ElfW(Phdr) *header = open_headers(module, &count, &bias);
    *load = (struct hs_module_load){0, 0, 0};
    if (!header)
        return true;
    for (; count--; header++) {
        uintptr_t start = bias + header->p_vaddr;
        if (header->p_type != PT_LOAD || !(header->p_flags & flags) || address - start >= header->p_filesz)
            continue;
        *load = (struct hs_module_load){start, header->p_offset, header->p_filesz};
        return true;
    }
    return false;
}

// ---- modules that are partly unmapped ------------------------------------------------------------------------------

// The result of a search: the start of a module, and whether it was torn. Of older searches only TORN is kept, for
// threads that do not search.
enum { LOOKED_AT = 256, TORN = 1, BEFORE = 2, LOOKER_STACK = 128 << 10 };
static _Atomic uintptr_t looked_at[LOOKED_AT];
static struct {
    uintptr_t page_mask; // 0: no search
    uintptr_t above;     // an address of the stack of the thread that does
} looker;                // no atomic words, so that a library that never asks has nothing of this

// msync(2) writes nothing here, but looks whether all is mapped.
static __attribute__((noinline)) bool is_mapped(uintptr_t start, size_t size)
{
    uintptr_t first = start & looker.page_mask;
    return HS_SYSTEM3(SYS_msync, first, start - first + size, MS_ASYNC) != -ENOMEM;
}

static bool is_whole(const struct hs_module *module)
{
    size_t count;
    uintptr_t bias;
    if (!is_mapped(module->start, 1))
        return false;
    const ElfW(Phdr) *header = open_headers(module, &count, &bias);
    for (; header && count--; header++)
        if (header->p_type == PT_LOAD && !is_mapped(bias + header->p_vaddr, header->p_filesz))
            return false;
    return true;
}

// A filter may kill the program's threads for a system call that the program never makes.
static bool looks(void)
{
    uintptr_t here = (uintptr_t)&here;
    return looker.above - here < LOOKER_STACK;
}

static bool is_torn(const struct hs_module *module)
{
    if (!looker.page_mask)
        return false;
    _Atomic uintptr_t *slot = &looked_at[module->start / HS_PAGE_SIZE % LOOKED_AT];
    uintptr_t found = atomic_load_explicit(slot, memory_order_relaxed) - module->start;
    if (found <= TORN)
        return found;
    if (!looks())
        return found == (TORN | BEFORE);
    found = !is_whole(module);
    atomic_store_explicit(slot, module->start + found, memory_order_relaxed);
    return found;
}

void hs_module_look(size_t size)
{
    looker.page_mask = -size;
    looker.above = (uintptr_t)&size + 2 * HS_PAGE_SIZE;
}

void hs_module_look_again(void)
{
    for (size_t i = LOOKED_AT; i--;) {
        uintptr_t found = atomic_load_explicit(&looked_at[i], memory_order_relaxed);
        atomic_store_explicit(&looked_at[i], found & TORN ? found | BEFORE : 0, memory_order_relaxed);
    }
}

// Headers that cannot be read speak against nothing.
static __attribute__((noinline)) bool has_code(const struct hs_module *module, uintptr_t pc,
                                               struct hs_module_load *load)
{
    return !is_torn(module) && find_load(module, pc, PF_X, load);
}

static bool in_module(const struct hs_module *module, uintptr_t pc)
{
    struct hs_module_load load;
    return pc - module->start < module->end - module->start && has_code(module, pc, &load);
}

// generation << 2 | SLOT_COMPLETE, or SLOT_BUSY while it is written. A slot of another generation is free.
enum { SLOTS = 1024, SLOT_BUSY = 1, SLOT_COMPLETE = 2 };
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
        if (read_slot(&slots[i], generation, module) && in_module(module, pc))
            return true;
    return false;
}

// A full table only costs time: the module is looked up again. So does a number of slots that two threads raise at
// once.
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
        if (atomic_load_explicit(&slots_used, memory_order_relaxed) <= i)
            atomic_store_explicit(&slots_used, i + 1, memory_order_relaxed);
        return;
    }
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
    struct hs_module_load load;
    uintptr_t at = (uintptr_t)address;
    if (!find_load(module, at, PF_R, &load))
        return false;
    if (!load.size)
        load = (struct hs_module_load){module->start, 0, module->end - module->start};
    segment->start = (const uint8_t *)load.address;
    segment->end = segment->start + load.size;
    return at - load.address < load.size;
}

bool hs_module_load(const struct hs_module *module, uintptr_t address, struct hs_module_load *load)
{
    return find_load(module, address, PF_R | PF_W | PF_X, load) && load->size;
}

bool hs_module_data(const struct hs_module *module, size_t number, struct hs_range *data)
{
    uintptr_t bias;
    size_t count;
    const ElfW(Phdr) *header = open_headers(module, &count, &bias);
    if (!header)
        return false;
    for (; count--; header++) {
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W) || number--)
            continue;
        const uint8_t *start = (const uint8_t *)(bias + header->p_vaddr);
        *data = (struct hs_range){start, start + header->p_filesz};
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
    if (!_dl_find_object || atomic_load_explicit(&loader_ignored, memory_order_relaxed) ||
        _dl_find_object((void *)pc, &object))
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

// Completes a module; only the address of its ELF header is known.
static bool read_module(uintptr_t start, struct hs_module *module)
{
    size_t count;
    uintptr_t bias;
    *module = (struct hs_module){start, start, NULL, false};
    const ElfW(Phdr) *header = open_headers(module, &count, &bias);
    if (!header)
        return false;
    for (; count--; header++) {
        uintptr_t address = bias + header->p_vaddr, end = address + header->p_memsz;
        if (header->p_type == PT_GNU_EH_FRAME)
            module->eh_frame_hdr = (const uint8_t *)address;
        if (header->p_type == PT_LOAD && end > module->end)
            module->end = end;
    }
    return true;
}

#ifndef HS_ARCH_CAPTURE_CALLER
// A walk starts in this code, which may be in memory that no file is mapped to.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static bool is_own(uintptr_t pc, struct hs_module *module)
{
    return read_module((uintptr_t)__ehdr_start, module) && in_module(module, pc);
}
#else
static bool is_own(uintptr_t pc, struct hs_module *module)
{
    (void)pc, (void)module;
    return false;
}
#endif

// `part`: what the loader knows of the module; or NULL.
static bool find_in_maps(uintptr_t pc, const struct hs_module *part, struct hs_module *module)
{
    struct hs_mapping mapping;
    bool mapped = hs_maps_find(pc, &mapping);
    if (mapped ? !mapping.executable : !part)
        return false;
    if (mapped && mapping.image_start &&
        ((read_module(mapping.image_start, module) && in_module(module, pc)) ||
         (read_module(mapping.image_again, module) && in_module(module, pc))))
        return true;
    if (mapped && !mapping.image_start && is_own(pc, module))
        return true;
    *module = part ? *part : (struct hs_module){mapping.start, mapping.end, NULL, true};
    return true;
}

// Addresses that are no code. A walk may meet the same one each time (a coroutine's first frame that holds anything),
// and /proc/self/maps is far too slow for that: an answer is taken again for a while. Where the program puts code
// later, it is wrong as often as it was right before, and at most ANSWERS times.
enum { NO_CODE = 64, ANSWERS = 1024 };
struct no_code {
    _Atomic uintptr_t page_and_generation;
    _Atomic uint32_t asked;
};
static struct no_code no_code[NO_CODE];
static _Atomic uint32_t code_appeared; // how often

void hs_module_code_appears(void)
{
    atomic_fetch_add_explicit(&code_appeared, 1, memory_order_seq_cst);
    for (size_t i = NO_CODE; i--;)
        atomic_store_explicit(&no_code[i].page_and_generation, 0, memory_order_seq_cst);
}

static uintptr_t no_code_key(uintptr_t pc, uint32_t generation)
{
    return (uintptr_t)generation << (HS_ARCH_ADDRESS_BITS - 12) | pc / HS_PAGE_SIZE;
}

static struct no_code *no_code_slot(uintptr_t pc)
{
    uintptr_t page = pc / HS_PAGE_SIZE;
    return &no_code[(page ^ page >> 6 ^ page >> 12) % NO_CODE];
}

static bool known_not_to_be_code(struct no_code *slot, uintptr_t key)
{
    if (atomic_load_explicit(&slot->page_and_generation, memory_order_relaxed) != key)
        return false;
    const uint32_t asked = atomic_fetch_add_explicit(&slot->asked, 1, memory_order_relaxed) + 1;
    return asked % ANSWERS && asked & (asked - 1);
}

// `appeared`: before the look.
static void keep_no_code(struct no_code *slot, uintptr_t key, uint32_t appeared)
{
    if (atomic_load_explicit(&slot->page_and_generation, memory_order_relaxed) != key) {
        atomic_store_explicit(&slot->asked, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->page_and_generation, key, memory_order_seq_cst);
    }
    if (atomic_load_explicit(&code_appeared, memory_order_seq_cst) != appeared)
        atomic_store_explicit(&slot->page_and_generation, 0, memory_order_relaxed);
}

static bool find_by_maps(uintptr_t pc, const struct hs_module *part, struct hs_module *module)
{
    uint32_t generation = hs_rule_generation();
    if (find_in_table(pc, generation, module))
        return true;
    struct no_code *slot = no_code_slot(pc);
    uintptr_t key = no_code_key(pc, generation);
    if (known_not_to_be_code(slot, key))
        return false;
    uint32_t before = atomic_load_explicit(&code_appeared, memory_order_seq_cst);
    if (!find_in_maps(pc, part, module)) {
        keep_no_code(slot, key, before);
        return false;
    }
    add_to_table(module, generation);
    return true;
}

// For a program whose segments are not adjacent (large pages), the loader reports only one segment; for a static
// executable, the text, which usually does not contain the ELF header. Code outside the file's segments may have been
// created by the program.
bool hs_module_find(uintptr_t pc, struct hs_module *module)
{
    struct hs_module part;
    struct hs_module_load load;
    bool known = find_through_loader(pc, &part) && has_code(&part, pc, &load);
    if (!known || !load.size)
        return find_by_maps(pc, known ? &part : NULL, module);
    *module = part;
    return true;
}
