// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/compressed.h"

#include "host/base/memory.h"

#include <gelf.h>
#include <string.h>

#define TIMES_UNPACKED 64 // debug information stays below twenty

// The older form, ".zdebug_info": "ZLIB" and the size in eight bytes, the highest first.
static uint64_t size_in_old_form(Elf_Scn *section)
{
    Elf_Data *data = elf_rawdata(section, NULL);
    uint64_t size = 0;
    if (!data || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4) != 0)
        return 0;
    for (int i = 4; i < 12; i++)
        size = size << 8 | ((const uint8_t *)data->d_buf)[i];
    return size;
}

// 0: it is not compressed.
static uint64_t unpacked_size(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    GElf_Chdr compression;
    if (header->sh_type == SHT_NOBITS)
        return 0;
    if (header->sh_flags & SHF_COMPRESSED) // what is packed with zstd is unpacked elsewhere, within limits (expand.h)
        return gelf_getchdr(section, &compression) && compression.ch_type == ELFCOMPRESS_ZLIB ? compression.ch_size : 0;
    return name && !strncmp(name, ".zdebug", 7) ? size_in_old_form(section) : 0;
}

bool hs_compressed__is_sane(Elf *elf)
{
    Elf_Scn *section = NULL;
    uint64_t packed = 0, unpacked = 0;
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names))
        return true;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        uint64_t size = unpacked_size(section, &header, elf_strptr(elf, names, header.sh_name));
        packed += size ? header.sh_size : 0;
        unpacked = size < UINT64_MAX - unpacked ? unpacked + size : UINT64_MAX;
    }
    return unpacked <= hs_memory__unpacked(packed, TIMES_UNPACKED);
}
