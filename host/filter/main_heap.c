// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The heap that grows behind the program with brk. Traces do not say where it is, but everything else that is mapped
// lies far from the program's end, around its libraries.
#include "host/filter/main_heap.h"

#include "host/filter/allocator.h"

#include <string.h>

#define FAR ((uint64_t)1 << 40)

static const struct hs_module *find_program(const struct hs_store *store)
{
    size_t count = 0;
    const struct hs_module *modules = hs_store__modules(store, &count);
    const char *name = hs_store__info(store, "executable");
    const struct hs_module *program = NULL;
    for (size_t i = 0; name && i < count; i++)
        if (!strcmp(modules[i].path, name) && (!program || modules[i].end > program->end))
            program = &modules[i];
    return program;
}

void hs_main_heap__find(const struct hs_store *store, struct hs_main_heap *heap)
{
    size_t count = 0;
    const struct hs_module *modules = hs_store__modules(store, &count);
    const struct hs_module *program = find_program(store);
    *heap = (struct hs_main_heap){0};
    if (!program || hs_allocator__of(store) != HS_ALLOCATOR_GLIBC)
        return;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (modules[i].start >= program->end && modules[i].start < next)
            next = modules[i].start;
    heap->from = program->end;
    heap->to = next == UINT64_MAX ? program->end + FAR : program->end + (next - program->end) / 2;
}

bool hs_main_heap__has(const struct hs_main_heap *heap, const struct hs_store *store, uint64_t row)
{
    uint64_t address = hs_row__address(hs_store__columns(store), row);
    return address >= heap->from && address < heap->to && !hs_allocator__is_mapped(store, row);
}
