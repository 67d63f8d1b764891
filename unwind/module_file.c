// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files stay mapped: a reader may be inside at any time, and a program has few modules that need this. A file belongs
// to a module when the module's first page, with its headers and mostly the build id, is the file's first page.
#include "unwind/module_file.h"

#include "arch/system.h"
#include "unwind/maps.h"
#include "unwind/rule_cache.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILES = 64 };

// A file that stays mapped. `module` and `generation` are where it was loaded at the last search.
struct file {
    _Atomic uint32_t busy_or_generation; // BUSY while a thread fills the slot
    _Atomic uintptr_t module;
    _Atomic(const uint8_t *) bytes; // NULL: the module has no usable file
    _Atomic size_t size;
    hs_file_attachment attachments[HS_ATTACHMENTS]; // of `bytes`
};
#define BUSY UINT32_MAX

static struct file files[FILES];

struct image {
    const uint8_t *bytes;
    size_t size;
    struct file *file; // the slot that keeps it
};

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
    struct image none = {NULL, 0, NULL};
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
        return (struct image){(const uint8_t *)bytes, (size_t)size, NULL};
    hs_system_munmap((void *)bytes, (size_t)size);
    return none;
}

// Looks the module up among the known ones of this generation.
static bool find_known(const struct hs_module *module, uint32_t generation, struct image *image)
{
    for (size_t i = 0; i < FILES; i++) {
        struct file *file = &files[i];
        if (atomic_load_explicit(&file->busy_or_generation, memory_order_acquire) != generation ||
            atomic_load_explicit(&file->module, memory_order_relaxed) != module->start)
            continue;
        image->bytes = atomic_load_explicit(&file->bytes, memory_order_relaxed);
        image->size = atomic_load_explicit(&file->size, memory_order_relaxed);
        image->file = file;
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&file->busy_or_generation, memory_order_relaxed) == generation)
            return true;
    }
    return false;
}

// A slot of an earlier generation that holds this module's file, or that holds none.
static struct file *claim_slot(const struct hs_module *module, uint32_t generation, bool mapped)
{
    for (size_t i = 0; i < FILES; i++) {
        struct file *file = &files[i];
        uint32_t state = atomic_load_explicit(&file->busy_or_generation, memory_order_acquire);
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

static struct image map_known(const struct hs_module *module, uint32_t generation)
{
    struct image image = {NULL, 0, NULL};
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
    image.file = file;
    return image;
}

hs_file_attachment *hs_module_file_attachments(const struct hs_module *module, struct hs_range *file)
{
    struct image image;
    uint32_t generation = hs_rule_generation();
    if (module->anonymous)
        return NULL;
    if (!find_known(module, generation, &image))
        image = map_known(module, generation);
    if (!image.bytes)
        return NULL;
    *file = (struct hs_range){image.bytes, image.bytes + image.size};
    return image.file->attachments;
}

bool hs_module_file(const struct hs_module *module, struct hs_range *file)
{
    return hs_module_file_attachments(module, file) != NULL;
}

bool hs_module_file_section(const struct hs_module *module, const char *name, struct hs_file_section *section)
{
    struct hs_range file;
    return hs_module_file(module, &file) && hs_file_section(file, name, section);
}
