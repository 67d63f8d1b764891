// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/unwind/view_process.h"

#include "arch/system.h"
#include "host/unwind/code_map.h"
#include "unwind/jit_frames.h"
#include "unwind/module_file.h"
#include "unwind/stack_memory.h"
#include "unwind/work.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

struct hs_view_process hs_view_process;

void *hs_system_memory(size_t size)
{
    long memory = hs_system_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hs_system_failed(memory) ? NULL : (void *)memory;
}

// ---- modules: code is known by where it is in this process ----------------------------------------------------------

uintptr_t hs_code_at(uintptr_t pc)
{
#ifdef HS_ARCH_IS_LEAF
    if (HS_ARCH_IS_LEAF(pc))
        return pc;
#endif
    return hs_code_map__code_at(hs_view_process.code_map, pc);
}

static struct hs_image *image_of(const struct hs_module *module)
{
    return hs_code_map__image_at(hs_view_process.code_map, module->start);
}

static uintptr_t in_memory(const struct hs_image *image, uint64_t address)
{
    return (uintptr_t)image->memory + (uintptr_t)(address - image->base);
}

// Of segments that there was no room for nothing is known.
static bool is_data(const struct hs_image *image, uintptr_t address)
{
    bool data = false;
    for (size_t i = 0; i < image->load_count; i++) {
        const struct hs_image_load *load = &image->loads[i];
        if (address - in_memory(image, load->address) >= load->size)
            continue;
        if (load->executable)
            return false;
        data = true;
    }
    return data;
}

bool hs_module_find(uintptr_t pc, struct hs_module *module)
{
    struct hs_image *image = hs_code_map__image_at(hs_view_process.code_map, pc);
    if (!image || is_data(image, pc))
        return false;
    module->start = (uintptr_t)image->memory;
    module->end = module->start + image->span;
    module->eh_frame_hdr = image->eh_frame_hdr ? (const uint8_t *)in_memory(image, image->eh_frame_hdr) : NULL;
    module->anonymous = false;
    return true;
}

static struct hs_range filled(const struct hs_image *image, const struct hs_image_load *load)
{
    const uint8_t *start = (const uint8_t *)in_memory(image, load->address);
    return (struct hs_range){start, start + load->filled};
}

bool hs_module_segment(const struct hs_module *module, const void *address, struct hs_range *segment)
{
    const struct hs_image *image = image_of(module);
    for (size_t i = 0; image && i < image->load_count; i++) {
        *segment = filled(image, &image->loads[i]);
        if ((const uint8_t *)address >= segment->start && (const uint8_t *)address < segment->end)
            return true;
    }
    return false;
}

bool hs_module_load(const struct hs_module *module, uintptr_t address, struct hs_module_load *load)
{
    (void)module, (void)address, (void)load;
    return false; // all that is loaded can be read
}

bool hs_module_data(const struct hs_module *module, size_t number, struct hs_range *data)
{
    const struct hs_image *image = image_of(module);
    for (size_t i = 0; image && i < image->load_count; i++) {
        if (!image->loads[i].writable || number--)
            continue;
        *data = filled(image, &image->loads[i]);
        return true;
    }
    return false;
}

bool hs_module_header(const struct hs_module *module, uint32_t type, struct hs_range *range)
{
    const struct hs_image *image = image_of(module);
    if (type != PT_ARM_EXIDX || !image || !image->exidx)
        return false;
    range->start = (const uint8_t *)in_memory(image, image->exidx);
    range->end = range->start + image->exidx_size;
    return true;
}

bool hs_module_bias(const struct hs_module *module, uintptr_t *bias)
{
    const struct hs_image *image = image_of(module);
    if (image)
        *bias = in_memory(image, 0);
    return image != NULL;
}

uintptr_t hs_module_entry(const struct hs_module *module)
{
    const struct hs_image *image = image_of(module);
    return image && image->entry ? in_memory(image, image->entry) & ~(uintptr_t)1 : 0;
}

// ---- files: a range of bytes stands for the image -------------------------------------------------------------------

hs_file_attachment *hs_module_file_attachments(const struct hs_module *module, struct hs_range *file)
{
    struct hs_image *image = image_of(module);
    if (!image)
        return NULL;
    *file = (struct hs_range){(const uint8_t *)image, (const uint8_t *)(image + 1)};
    return image->attachments;
}

bool hs_module_file(const struct hs_module *module, struct hs_range *file)
{
    return hs_module_file_attachments(module, file) != NULL;
}

static struct hs_image *image_behind(struct hs_range file)
{
    return (struct hs_image *)(uintptr_t)file.start;
}

static bool describe(struct hs_image_section *from, struct hs_file_section *section)
{
    if (!hs_image__section_bytes(from))
        return false;
    *section = (struct hs_file_section){{from->bytes, from->bytes + from->size}, from->address, from->loaded};
    return true;
}

bool hs_file_section(struct hs_range file, const char *name, struct hs_file_section *section)
{
    struct hs_image *image = image_behind(file);
    for (size_t i = 0; i < image->section_count; i++)
        if (!strcmp(image->sections[i].name, name) && describe(&image->sections[i], section))
            return true;
    return false;
}

bool hs_module_file_section(const struct hs_module *module, const char *name, struct hs_file_section *section)
{
    struct hs_range file;
    return hs_module_file(module, &file) && hs_file_section(file, name, section);
}

bool hs_file_code_section(struct hs_range file, size_t *number, struct hs_file_section *section)
{
    struct hs_image *image = image_behind(file);
    while (*number < image->section_count) {
        struct hs_image_section *next = &image->sections[(*number)++];
        if (next->code && next->loaded && describe(next, section))
            return true;
    }
    return false;
}

bool hs_file_symbols(struct hs_range file, struct hs_file_symbols *symbols)
{
    const struct hs_image *image = image_behind(file);
    const uint8_t *names = (const uint8_t *)image->names;
    if (!image->symbol_count || !names)
        return false;
    symbols->bytes.start = (const uint8_t *)image->symbols;
    symbols->bytes.end = (const uint8_t *)(image->symbols + image->symbol_count);
    symbols->names = (struct hs_range){names, names + image->names_size};
    return true;
}

bool hs_file_symbols_next(struct hs_file_symbols *symbols, struct hs_file_function *function)
{
    for (const Elf64_Sym *symbol; symbols->bytes.start < symbols->bytes.end;) {
        symbol = (const Elf64_Sym *)symbols->bytes.start;
        symbols->bytes.start = (const uint8_t *)(symbol + 1);
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF)
            continue;
        bool named = symbol->st_name < (size_t)(symbols->names.end - symbols->names.start);
        *function = (struct hs_file_function){(uintptr_t)symbol->st_value, (uintptr_t)symbol->st_size,
                                              named ? (const char *)symbols->names.start + symbol->st_name : NULL};
        return true;
    }
    return false;
}

// ---- what only a process has ----------------------------------------------------------------------------------------

bool hs_jit_frames_begin(void)
{
    return false;
}

void hs_jit_frames_end(void)
{
}

bool hs_jit_frames_find(uintptr_t address, struct hs_cfi_section *section, struct hs_fde *fde)
{
    (void)address, (void)section, (void)fde;
    return false;
}

// Memory that is not of the stack's copy is an image's.
struct hs_stack_memory hs_stack_memory_extend(struct hs_stack_memory memory, uintptr_t address)
{
    const struct hs_image *image = hs_code_map__image_at(hs_view_process.code_map, address);
    memory = (struct hs_stack_memory){0, 0};
    if (image && image->span >= sizeof(uintptr_t))
        memory = (struct hs_stack_memory){(uintptr_t)image->memory, image->span - (sizeof(uintptr_t) - 1)};
    return memory;
}

bool hs_memory_copy(uintptr_t address, void *to, size_t length, bool may_go)
{
    (void)may_go;
    const struct hs_image *image = hs_code_map__image_at(hs_view_process.code_map, address);
    const uintptr_t offset = address - (uintptr_t)(image ? image->memory : NULL);
    if (!image || length > image->span || offset > image->span - length)
        return false;
    memcpy(to, (const void *)address, length);
    return true;
}

// ---- how much is looked at: of hostile files, each place in code may be dear ---------------------------------------

bool hs_view_may_look_at(size_t bytes)
{
    if (bytes > hs_view_process.granted - hs_view_process.looked_at) {
        hs_view_process.given_up = true;
        return false;
    }
    hs_view_process.looked_at += bytes;
    return true;
}
