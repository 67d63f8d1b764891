// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Prints the CFI row of each entry of an ARM file's .ARM.exidx, for check_exidx to compare with what readelf decodes.
#include "unwind/exidx.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const Elf32_Phdr *header_of(const uint8_t *file, uint32_t type, uint32_t address)
{
    const Elf32_Ehdr *header = (const Elf32_Ehdr *)file;
    const Elf32_Phdr *headers = (const Elf32_Phdr *)(file + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++)
        if (headers[i].p_type == type && address - headers[i].p_vaddr < headers[i].p_filesz)
            return &headers[i];
    return NULL;
}

static bool locate(const uint8_t *file, struct hs_exidx *exidx)
{
    const Elf32_Ehdr *header = (const Elf32_Ehdr *)file;
    const Elf32_Phdr *headers = (const Elf32_Phdr *)(file + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (headers[i].p_type != PT_ARM_EXIDX)
            continue;
        const Elf32_Phdr *load = header_of(file, PT_LOAD, headers[i].p_vaddr);
        *exidx = (struct hs_exidx){file + load->p_offset, load->p_filesz, load->p_vaddr, headers[i].p_vaddr,
                                   headers[i].p_filesz / 8};
        return true;
    }
    return false;
}

static void print_cfi_row(const struct hs_cfi_row *cfi_row)
{
    printf(" cfa=r%u%+d", cfi_row->cfa_register, (int)cfi_row->cfa_offset);
    for (int i = 4; i <= 14; i++)
        if (cfi_row->registers[i].kind == HS_CFI_AT_OFFSET)
            printf(" r%d=%+d", i, cfi_row->registers[i].value);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct stat status;
    struct hs_exidx exidx;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status))
        return 1;
    const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED || memcmp(file, ELFMAG, SELFMAG) != 0 || !locate(file, &exidx))
        return 1;
    uint32_t start;
    for (uint32_t i = 0; hs_exidx_start(&exidx, i, &start); i++) {
        struct hs_exidx_entry entry;
        struct hs_cfi_row cfi_row;
        printf("%#x", start);
        if (hs_exidx_find(&exidx, start, &entry) && entry.start == start && hs_exidx_cfi_row(&exidx, &entry, &cfi_row))
            print_cfi_row(&cfi_row);
        else
            printf(" none\n");
    }
    return 0;
}
