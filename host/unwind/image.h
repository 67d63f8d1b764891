// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An ELF file of any machine as it lies in memory when it is loaded, but not relocated: pointers are as they were
// linked. Any bytes may be in the file; what does not fit is left out.
#ifndef HEAPSONDE_HOST_UNWIND_IMAGE_H
#define HEAPSONDE_HOST_UNWIND_IMAGE_H

#include <elf.h>
#include <libelf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_IMAGE_LOADS = 16 };

struct hs_image_load {
    uint64_t address; // as linked
    uint64_t size;
    uint64_t filled; // bytes that the file has
    uint64_t offset;
    bool writable, executable;
};

struct hs_image_section {
    const char *name;
    uint64_t address; // as linked; 0: not loaded
    bool loaded, code;
    Elf_Scn *section;
    const uint8_t *bytes; // NULL: not read yet, or none
    size_t size;
};

struct hs_image {
    uint8_t *memory; // of `span` bytes, the first of which is at `base` as linked
    size_t span;
    uint64_t base;
    uint64_t entry;        // 0: none
    uint64_t eh_frame_hdr; // 0: none
    uint64_t exidx, exidx_size;
    struct hs_image_load loads[HS_IMAGE_LOADS];
    size_t load_count;
    struct hs_image_section *sections; // of the file, then of that with its debug information
    size_t section_count;
    Elf64_Sym *symbols; // in this machine's order; of the better of both files
    size_t symbol_count;
    const char *names; // of the symbols; the last byte is 0
    size_t names_size;
    _Atomic(const void *) attachments[2]; // unwind/module_file.h
    Elf *elf[2];
    int fd[2];
};

// What a file has to be.
struct hs_image_kind {
    uint16_t machine;
    uint8_t pointer_size;
    bool big_endian;
};

// Takes both descriptors; `debug`: of the file with the debug information, or -1. NULL: it is no such file, it has no
// code, or there is no memory.
struct hs_image *hs_image__open(const struct hs_image_kind *kind, int fd, int debug);
void hs_image__close(struct hs_image *image);

// The bytes of a section, unpacked if need be. False when it has none.
bool hs_image__section_bytes(struct hs_image_section *section);

#endif
