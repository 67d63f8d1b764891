// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/growing.h"

#include <errno.h>
#include <sys/mman.h>

#define FIRST ((size_t)2 << 20)

int hs_growing__reserve(struct hs_growing *memory, size_t size)
{
    size_t grown = memory->size ? memory->size : FIRST;
    while (grown < size)
        grown *= 2;
    if (grown == memory->size)
        return 0;
    void *data = memory->data
                     ? mremap(memory->data, memory->size, grown, MREMAP_MAYMOVE)
                     : mmap(NULL, grown, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return -ENOMEM;
    // Frees go all over it: large pages spare most of the address translations.
    madvise(data, grown, MADV_HUGEPAGE);
    memory->data = data;
    memory->size = grown;
    return 0;
}

void hs_growing__free(struct hs_growing *memory)
{
    if (memory->data)
        munmap(memory->data, memory->size);
    *memory = (struct hs_growing){0};
}
