// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Views keep what they have found in tables of their own, by addresses in this process: a session holds the views'
// lock while it is there, and has them forget when it ends.
#include "host/unwind/offline.h"

#include "host/base/array.h"
#include "host/unwind/image.h"
#include "host/unwind/offline_view.h"
#include "host/unwind/view.h"
#include "unwind/walk.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct offline_allocation {
    struct offline_allocation *next, *previous;
    void *memory;
    size_t size;
};

struct hs_offline {
    const struct hs_view *view;
    struct hs_image_kind kind;
    struct hs_image **files;
    size_t file_count, file_capacity;
    struct hs_offline_module *modules;
    size_t module_count;
    int (*open)(void *context, size_t module);
    void *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct offline_allocation *allocations; // of the session that holds the lock

// ---- what views ask -------------------------------------------------------------------------------------------------

static long map_memory(size_t size)
{
    struct offline_allocation *added = malloc(sizeof *added);
    void *memory = added ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        free(added);
        return -ENOMEM;
    }
    *added = (struct offline_allocation){allocations, NULL, memory, size};
    if (allocations)
        allocations->previous = added;
    allocations = added;
    return (long)memory;
}

static void unmap(struct offline_allocation *allocation)
{
    if (allocation->previous)
        allocation->previous->next = allocation->next;
    else
        allocations = allocation->next;
    if (allocation->next)
        allocation->next->previous = allocation->previous;
    munmap(allocation->memory, allocation->size);
    free(allocation);
}

long hs_view_system(long number, long first, long second);
long hs_view_system(long number, long first, long second)
{
    if (number == SYS_mmap)
        return map_memory((size_t)second);
    if (number != SYS_munmap)
        return -ENOSYS;
    for (struct offline_allocation *allocation = allocations; allocation; allocation = allocation->next)
        if (allocation->memory == (void *)first) {
            unmap(allocation);
            return 0;
        }
    return -EINVAL;
}

static const struct hs_offline_module *module_at(const struct hs_offline *self, uint64_t pc)
{
    size_t low = 0, high = self->module_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->modules[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low && pc - self->modules[low - 1].start < self->modules[low - 1].end - self->modules[low - 1].start
               ? &self->modules[low - 1]
               : NULL;
}

// A return address may be the first one behind the code.
static const struct hs_offline_module *module_of(const struct hs_offline *self, uint64_t pc)
{
    const struct hs_offline_module *module = module_at(self, pc);
    return module ? module : module_at(self, pc - 1);
}

uintptr_t hs_offline__code_at(struct hs_offline *self, uintptr_t pc)
{
    const struct hs_offline_module *module = module_of(self, pc);
    int file = module && self->open ? self->open(self->context, module->number) : -1;
    if (file < 0)
        return 0;
    const struct hs_image *image = self->files[file];
    uint64_t offset = pc - module->bias - image->base;
    return offset <= image->span ? (uintptr_t)image->memory + (uintptr_t)offset : 0;
}

struct hs_image *hs_offline__image_at(struct hs_offline *self, uintptr_t address)
{
    for (size_t i = 0; i < self->file_count; i++)
        if (address - (uintptr_t)self->files[i]->memory < self->files[i]->span)
            return self->files[i];
    return NULL;
}

// ---- sessions -------------------------------------------------------------------------------------------------------

static const struct hs_view *view_of(const struct hs_image_kind *kind)
{
    bool wide = kind->pointer_size == 8;
    switch (kind->machine) {
    case EM_X86_64:
        return wide ? &hs_view_amd64 : NULL;
    case EM_AARCH64:
        return wide && !kind->big_endian ? &hs_view_aarch64 : NULL;
    case EM_ARM:
        return wide || kind->big_endian ? NULL : &hs_view_arm;
    case EM_MIPS:
        return !wide ? NULL : kind->big_endian ? &hs_view_mips64 : &hs_view_mips64el;
    }
    return NULL;
}

struct hs_offline *hs_offline__create(uint16_t machine, uint8_t pointer_size, bool big_endian, bool *unknown)
{
    const struct hs_image_kind kind = {machine, pointer_size, big_endian};
    const struct hs_view *view = view_of(&kind);
    *unknown = !view;
    struct hs_offline *self = view ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return NULL;
    self->view = view;
    self->kind = kind;
    pthread_mutex_lock(&lock);
    return self;
}

void hs_offline__destroy(struct hs_offline *self)
{
    if (!self)
        return;
    self->view->forget();
    while (allocations)
        unmap(allocations);
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < self->file_count; i++)
        hs_image__close(self->files[i]);
    free(self->files);
    free(self->modules);
    free(self);
}

unsigned hs_offline__registers(const struct hs_offline *self)
{
    return self->view->registers;
}

unsigned hs_offline__pc(const struct hs_offline *self)
{
    return self->view->pc;
}

uint64_t hs_offline__looked_at(const struct hs_offline *self)
{
    return self->view->looked_at();
}

int hs_offline__add_file(struct hs_offline *self, int fd, int debug)
{
    struct hs_image *image = hs_image__open(&self->kind, fd, debug);
    if (image && !HS_ARRAY_HAS_ROOM(self->files, self->file_count, self->file_capacity)) {
        hs_image__close(image);
        return -1;
    }
    if (!image)
        return -1;
    self->files[self->file_count] = image;
    return (int)self->file_count++;
}

void hs_offline__on_first_use(struct hs_offline *self, int (*open)(void *context, size_t module), void *context)
{
    self->open = open;
    self->context = context;
}

static int compare_modules(const void *left, const void *right)
{
    const struct hs_offline_module *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void hs_offline__set_modules(struct hs_offline *self, const struct hs_offline_module *modules, size_t count)
{
    free(self->modules);
    self->modules = malloc((count + 1) * sizeof *self->modules);
    self->module_count = self->modules ? count : 0;
    for (size_t i = 0; i < self->module_count; i++)
        self->modules[i] = modules[i];
    if (self->module_count)
        qsort(self->modules, self->module_count, sizeof *self->modules, compare_modules);
}

void hs_offline__walk(struct hs_offline *self, const struct hs_offline_snapshot *snapshot,
                      struct hs_offline_stack *stack)
{
    struct hs_view_walk walk = {.registers = snapshot->registers,
                                .copy = snapshot->copy,
                                .size = snapshot->size,
                                .pcs = stack->pcs,
                                .guessed = stack->guessed,
                                .capacity = HS_OFFLINE_FRAMES};
    self->view->walk(self, &walk);
    stack->depth = walk.depth;
    stack->end = walk.given_up && walk.end != HS_END_ROOT ? HS_OFFLINE_TOO_DEAR : walk.end;
    const struct hs_offline_module *last = walk.depth ? module_of(self, stack->pcs[walk.depth - 1]) : NULL;
    if (walk.end != HS_END_ROOT && last && (!self->open || self->open(self->context, last->number) < 0))
        stack->end = HS_OFFLINE_NO_FILE;
}
