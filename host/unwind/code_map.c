// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/unwind/code_map.h"

#include "host/base/array.h"
#include "host/base/search.h"

#include <stdlib.h>

void hs_code_map__free(struct hs_code_map *self)
{
    for (size_t i = 0; i < self->image_count; i++)
        hs_image__close(self->images[i]);
    free(self->images);
    free(self->modules);
}

int hs_code_map__add_image(struct hs_code_map *self, struct hs_image *image)
{
    if (!image)
        return -1;
    if (!HS_ARRAY_HAS_ROOM(self->images, self->image_count, self->image_capacity)) {
        hs_image__close(image);
        return -1;
    }
    self->images[self->image_count] = image;
    return (int)self->image_count++;
}

static int compare_modules(const void *left, const void *right)
{
    const struct hs_offline_module *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void hs_code_map__set_modules(struct hs_code_map *self, const struct hs_offline_module *modules, size_t count)
{
    free(self->modules);
    self->modules = malloc((count + 1) * sizeof *self->modules);
    self->module_count = self->modules ? count : 0;
    for (size_t i = 0; i < self->module_count; i++)
        self->modules[i] = modules[i];
    if (self->module_count)
        qsort(self->modules, self->module_count, sizeof *self->modules, compare_modules);
}

static const struct hs_offline_module *module_at(const struct hs_code_map *self, uint64_t pc)
{
    size_t low = HS_SEARCH(self->module_count, i, self->modules[i].start <= pc);
    return low && pc - self->modules[low - 1].start < self->modules[low - 1].end - self->modules[low - 1].start
               ? &self->modules[low - 1]
               : NULL;
}

// A return address may be the first one behind the code.
static const struct hs_offline_module *module_of(const struct hs_code_map *self, uint64_t pc)
{
    const struct hs_offline_module *module = module_at(self, pc);
    return module ? module : module_at(self, pc - 1);
}

static int file_of(const struct hs_code_map *self, const struct hs_offline_module *module)
{
    return self->open ? self->open(self->context, module->number) : -1;
}

uintptr_t hs_code_map__code_at(const struct hs_code_map *self, uintptr_t pc)
{
    const struct hs_offline_module *module = module_of(self, pc);
    int file = module ? file_of(self, module) : -1;
    if (file < 0)
        return 0;
    const struct hs_image *image = self->images[file];
    uint64_t offset = pc - module->bias - image->base;
    return offset <= image->span ? (uintptr_t)image->memory + (uintptr_t)offset : 0;
}

struct hs_image *hs_code_map__image_at(const struct hs_code_map *self, uintptr_t address)
{
    for (size_t i = 0; i < self->image_count; i++)
        if (address - (uintptr_t)self->images[i]->memory < self->images[i]->span)
            return self->images[i];
    return NULL;
}

bool hs_code_map__lacks_file(const struct hs_code_map *self, uint64_t pc)
{
    const struct hs_offline_module *module = module_of(self, pc);
    return module && file_of(self, module) < 0;
}
