// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Views keep what they have found in tables of their own, by addresses in this process: a session holds the views'
// lock while it is there, and has them forget when it ends.
#include "host/unwind/offline.h"

#include "host/unwind/image.h"
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
    struct hs_code_map code;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct offline_allocation *allocations; // of the session that holds the lock

// ---- memory of views -----------------------------------------------------------------------------------------------

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
    hs_code_map__free(&self->code);
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
    return hs_code_map__add_image(&self->code, hs_image__open(&self->kind, fd, debug));
}

void hs_offline__on_first_use(struct hs_offline *self, int (*open)(void *context, size_t module), void *context)
{
    self->code.open = open;
    self->code.context = context;
}

void hs_offline__set_modules(struct hs_offline *self, const struct hs_offline_module *modules, size_t count)
{
    hs_code_map__set_modules(&self->code, modules, count);
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
    self->view->walk(&self->code, &walk);
    stack->depth = walk.depth;
    stack->end = walk.given_up && walk.end != HS_END_ROOT ? HS_OFFLINE_TOO_DEAR : walk.end;
    if (walk.end != HS_END_ROOT && walk.depth && hs_code_map__lacks_file(&self->code, stack->pcs[walk.depth - 1]))
        stack->end = HS_OFFLINE_NO_FILE;
}
