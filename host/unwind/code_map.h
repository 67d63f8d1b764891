// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The code of a recorded process: where its modules were loaded there, and where the images of their files are in this
// process.
#ifndef HEAPSONDE_HOST_UNWIND_CODE_MAP_H
#define HEAPSONDE_HOST_UNWIND_CODE_MAP_H

#include "host/unwind/image.h"

struct hs_offline_module {
    uint64_t start, end, bias; // bias: run-time address - address in the file
    uint32_t number;
};
struct hs_code_map {
    struct hs_image **images; // by number of the file
    size_t image_count, image_capacity;
    struct hs_offline_module *modules;
    size_t module_count;
    int (*open)(void *context, size_t module); // the number of a module's file, or -1; may be NULL
    void *context;
};

// An empty map is all zero.
void hs_code_map__free(struct hs_code_map *self);

// Takes the image; NULL: there is none. Returns its number, or -1.
int hs_code_map__add_image(struct hs_code_map *self, struct hs_image *image);

// Replaces the modules. Without memory, there are none.
void hs_code_map__set_modules(struct hs_code_map *self, const struct hs_offline_module *modules, size_t count);

// Where the code is in this process that was at `pc` there; 0: its file is not known.
uintptr_t hs_code_map__code_at(const struct hs_code_map *self, uintptr_t pc);

// The image that holds an address of this process.
struct hs_image *hs_code_map__image_at(const struct hs_code_map *self, uintptr_t address);

// Whether a module was at `pc` there whose file is not known.
bool hs_code_map__lacks_file(const struct hs_code_map *self, uint64_t pc);

#endif
