// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files stay mapped: a reader may be inside at any time, and a program has few modules that need this. A file belongs
// to a module when the module's first page, with its headers and mostly the build id, is the file's first page.
#include "unwind/debug_frame.h"

#include "arch/system.h"
#include "unwind/eh_frame.h"
#include "unwind/maps.h"
#include "unwind/rule_cache.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILES = 64 };

// A file that is mapped, for good. `module` and `generation` say where it was loaded when it was last looked for.
struct file {
    _Atomic uint64_t busy_or_generation; // BUSY while a thread fills the slot
    _Atomic uintptr_t module;
    _Atomic(const uint8_t *) bytes; // NULL: the module has no usable file
    _Atomic size_t size;
};
#define BUSY UINT64_MAX

static struct file files[FILES];

struct image {
    const uint8_t *bytes;
    size_t size;
};

static bool in_file(size_t size, uint64_t offset, uint64_t length)
{
    return offset <= size && length <= size - offset;
}

// Section headers are copied: nothing in a damaged file is aligned.
static bool section_header(const uint8_t *file, size_t size, const ElfW(Ehdr) * header, size_t index,
                           ElfW(Shdr) * section)
{
    if (index >= header->e_shnum || header->e_shentsize != sizeof *section || header->e_shoff > size ||
        !in_file(size, header->e_shoff + index * sizeof *section, sizeof *section))
        return false;
    __builtin_memcpy(section, file + header->e_shoff + index * sizeof *section, sizeof *section);
    return in_file(size, section->sh_offset, section->sh_size) || section->sh_type == SHT_NOBITS;
}

static bool is_named(const uint8_t *names, size_t length, size_t at, const char *wanted, size_t wanted_size)
{
    if (at > length || wanted_size > length - at)
        return false;
    for (size_t i = 0; i < wanted_size; i++)
        if (names[at + i] != (uint8_t)wanted[i])
            return false;
    return true;
}

// Finds a section that is in the file as it is.
static bool find_section(const uint8_t *file, size_t size, const char *name, size_t name_size, ElfW(Shdr) * section)
{
    ElfW(Ehdr) header;
    ElfW(Shdr) names;
    if (size < sizeof header)
        return false;
    __builtin_memcpy(&header, file, sizeof header);
    if (!section_header(file, size, &header, header.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
        return false;
    for (size_t i = 0; i < header.e_shnum; i++) {
        if (!section_header(file, size, &header, i, section) || section->sh_type == SHT_NOBITS ||
            section->sh_flags & SHF_COMPRESSED)
            continue;
        if (is_named(file + names.sh_offset, names.sh_size, section->sh_name, name, name_size))
            return true;
    }
    return false;
}

bool hs_debug_frame_locate(const uint8_t *file, size_t size, const uint8_t **start, const uint8_t **end)
{
    static const char name[] = ".debug_frame";
    ElfW(Shdr) section;
    if (!find_section(file, size, name, sizeof name, &section))
        return false;
    *start = file + section.sh_offset;
    *end = *start + section.sh_size;
    return true;
}

// .eh_frame of a module without PT_GNU_EH_FRAME: static executables. Only its place is taken from the file.
static bool locate_eh_frame(const struct hs_module *module, struct image image, uintptr_t bias,
                            struct hs_cfi_section *section)
{
    static const char name[] = ".eh_frame";
    ElfW(Shdr) header;
    struct hs_range segment;
    if (module->eh_frame_hdr || !find_section(image.bytes, image.size, name, sizeof name, &header))
        return false;
    const uint8_t *start = (const uint8_t *)(bias + header.sh_addr);
    if (!hs_module_segment(module, start, &segment) || header.sh_size > (size_t)(segment.end - start))
        return false;
    *section = (struct hs_cfi_section){.start = start, .end = start + header.sh_size};
    return true;
}

static bool same_first_page(const struct hs_module *module, const uint8_t *bytes, size_t size)
{
    struct hs_range first;
    if (!hs_module_segment(module, (const void *)module->start, &first))
        return false;
    size_t length = (size_t)(first.end - first.start);
    length = length < HS_PAGE_SIZE ? length : HS_PAGE_SIZE;
    if (size < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (first.start[i] != bytes[i])
            return false;
    return true;
}

static struct image map_file(const struct hs_module *module)
{
    struct hs_mapping mapping;
    struct image none = {NULL, 0};
    if (!hs_maps_find(module->start, &mapping) || mapping.path[0] != '/')
        return none;
    long fd = hs_system_open(mapping.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return none;
    long size = HS_SYSTEM3(SYS_lseek, fd, 0, SEEK_END);
    long bytes = size <= 0 ? -1 : hs_system_mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, (int)fd, 0);
    hs_system_close((int)fd);
    if (hs_system_failed(bytes))
        return none;
    if (same_first_page(module, (const uint8_t *)bytes, (size_t)size))
        return (struct image){(const uint8_t *)bytes, (size_t)size};
    hs_system_munmap((void *)bytes, (size_t)size);
    return none;
}

// Looks the module up among the known ones of this generation.
static bool find_known(const struct hs_module *module, uint64_t generation, struct image *image)
{
    for (size_t i = 0; i < FILES; i++) {
        struct file *file = &files[i];
        if (atomic_load_explicit(&file->busy_or_generation, memory_order_acquire) != generation ||
            atomic_load_explicit(&file->module, memory_order_relaxed) != module->start)
            continue;
        image->bytes = atomic_load_explicit(&file->bytes, memory_order_relaxed);
        image->size = atomic_load_explicit(&file->size, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&file->busy_or_generation, memory_order_relaxed) == generation)
            return true;
    }
    return false;
}

// A slot of an earlier generation that holds this module's file, or that holds none.
static struct file *claim_slot(const struct hs_module *module, uint64_t generation, bool mapped)
{
    for (size_t i = 0; i < FILES; i++) {
        struct file *file = &files[i];
        uint64_t state = atomic_load_explicit(&file->busy_or_generation, memory_order_acquire);
        const uint8_t *bytes = atomic_load_explicit(&file->bytes, memory_order_relaxed);
        if (state >= generation || (bytes != NULL) != mapped)
            continue;
        if (mapped && !same_first_page(module, bytes, atomic_load_explicit(&file->size, memory_order_relaxed)))
            continue;
        if (atomic_compare_exchange_strong_explicit(&file->busy_or_generation, &state, BUSY, memory_order_acquire,
                                                    memory_order_relaxed))
            return file;
    }
    return NULL;
}

static struct image map_known(const struct hs_module *module, uint64_t generation)
{
    struct image image = {NULL, 0};
    struct file *file = claim_slot(module, generation, true);
    if (file) {
        image.bytes = atomic_load_explicit(&file->bytes, memory_order_relaxed);
        image.size = atomic_load_explicit(&file->size, memory_order_relaxed);
    } else if (!(file = claim_slot(module, generation, false))) {
        return image; // the table is full
    } else {
        image = map_file(module);
    }
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&file->module, module->start, memory_order_relaxed);
    atomic_store_explicit(&file->bytes, image.bytes, memory_order_relaxed);
    atomic_store_explicit(&file->size, image.size, memory_order_relaxed);
    atomic_store_explicit(&file->busy_or_generation, generation, memory_order_release);
    return image;
}

bool hs_debug_frame_find(const struct hs_module *module, uintptr_t address, struct hs_cfi_section *section,
                         struct hs_fde *fde)
{
    struct image image;
    uintptr_t bias;
    uint64_t generation = hs_rule_generation();
    if (module->anonymous || !hs_module_bias(module, &bias))
        return false;
    if (!find_known(module, generation, &image))
        image = map_known(module, generation);
    if (!image.bytes)
        return false;
    if (locate_eh_frame(module, image, bias, section) && hs_eh_frame_scan(section, section->start, address, fde))
        return true;
    *section = (struct hs_cfi_section){.bias = bias, .debug_frame = true};
    return hs_debug_frame_locate(image.bytes, image.size, &section->start, &section->end) &&
           hs_eh_frame_scan(section, section->start, address, fde);
}
