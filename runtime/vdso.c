// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/vdso.h"

#include "runtime/memory.h"
#include "runtime/text.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>

hs_vdso_clock *hs_vdso__clock;

static hs_vdso_clock *find_function(uintptr_t image)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(image + header->e_phoff);
    const ElfW(Dyn) *entry = NULL;
    uintptr_t bias = image;
    for (unsigned i = header->e_phnum; i-- > 0;) {
        if (parts[i].p_type == PT_LOAD)
            bias = image + parts[i].p_offset - parts[i].p_vaddr;
        else if (parts[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(image + parts[i].p_offset);
    }
    const ElfW(Sym) *symbol = NULL;
    const char *strings = NULL;
    for (; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SYMTAB)
            symbol = (const ElfW(Sym) *)(bias + entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            strings = (const char *)(bias + entry->d_un.d_ptr);
    for (; symbol && (const char *)(symbol + 1) <= strings; symbol++) // the names follow the symbols
        if (symbol->st_value && hs_text__equal(strings + symbol->st_name, HS_KERNEL_VDSO_CLOCK))
            return (hs_vdso_clock *)(bias + symbol->st_value);
    return NULL;
}

void hs_vdso__find(void)
{
    uintptr_t image = hs_memory__auxiliary(AT_SYSINFO_EHDR);
    if (image && !hs_vdso__clock)
        hs_vdso__clock = find_function(image);
}
