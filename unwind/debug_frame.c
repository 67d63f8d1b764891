// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/debug_frame.h"

#include "unwind/eh_frame.h"
#include "unwind/module_file.h"

bool hs_debug_frame_locate(const uint8_t *file, size_t size, const uint8_t **start, const uint8_t **end)
{
    struct hs_file_section section;
    if (!hs_file_section((struct hs_range){file, file + size}, ".debug_frame", &section))
        return false;
    *start = section.bytes.start;
    *end = section.bytes.end;
    return true;
}

// .eh_frame of a module without PT_GNU_EH_FRAME: static executables. Only its place is taken from the file.
static bool locate_eh_frame(const struct hs_module *module, struct hs_range file, uintptr_t bias,
                            struct hs_cfi_section *section)
{
    struct hs_file_section found;
    struct hs_range segment;
    if (module->eh_frame_hdr || !hs_file_section(file, ".eh_frame", &found))
        return false;
    const uint8_t *start = (const uint8_t *)(bias + found.address);
    size_t size = (size_t)(found.bytes.end - found.bytes.start);
    if (!hs_module_segment(module, start, &segment) || size > (size_t)(segment.end - start))
        return false;
    *section = (struct hs_cfi_section){.start = start, .end = start + size, .bias = HS_WORDS_LINKED ? bias : 0};
    return true;
}

bool hs_debug_frame_find(const struct hs_module *module, uintptr_t address, struct hs_cfi_section *section,
                         struct hs_fde *fde)
{
    struct hs_range file;
    uintptr_t bias;
    if (!hs_module_bias(module, &bias) || !hs_module_file(module, &file))
        return false;
    if (locate_eh_frame(module, file, bias, section) && hs_eh_frame_scan(section, section->start, address, fde))
        return true;
    *section = (struct hs_cfi_section){.bias = bias, .debug_frame = true};
    return hs_debug_frame_locate(file.start, (size_t)(file.end - file.start), &section->start, &section->end) &&
           hs_eh_frame_scan(section, section->start, address, fde);
}
