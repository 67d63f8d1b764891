// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The recording library as it is to lie in a target's memory.
#ifndef HEAPSONDE_HOST_INJECT_IMAGE_H
#define HEAPSONDE_HOST_INJECT_IMAGE_H

#include "format/attach.h"
#include "host/inject/modules.h"

struct hs_inject_image {
    struct hs_elf_file file;
    uint8_t *bytes;
    size_t size;        // in whole pages
    size_t writable_at; // from here on it is data
    uint64_t base;      // its address in the target
    uint64_t table;     // of the struct hs_attach_table there
    // Where the library looks for distances from the thread pointer, and what stands there.
    size_t thread_entries[16];
    size_t thread_entry_count;
};

int hs_inject_image__open(struct hs_inject_image *image, const char *path, uint16_t machine, struct hs_error *error);
void hs_inject_image__close(struct hs_inject_image *image);

// What the library imports: the address of `name` in the target, 0: none.
typedef uint64_t hs_inject_import(void *context, const char *name);

// Relocates it to `base`, thread-local variables to `thread_offset` from the thread pointer on.
int hs_inject_image__relocate(struct hs_inject_image *image, const struct hs_inject_arch *arch, uint64_t base,
                              int64_t thread_offset, hs_inject_import *import, void *context, struct hs_error *error);

// The address of an exported function in the target, 0: none.
uint64_t hs_inject_image__function(const struct hs_inject_image *image, const char *name);

struct hs_attach_table *hs_inject_image__table(const struct hs_inject_image *image);
// What is at an address of the target, in our copy. NULL: not of the image.
void *hs_inject_image__at(const struct hs_inject_image *image, uint64_t address, size_t size);

#endif
