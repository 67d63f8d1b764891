// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/memory.h"

#include "arch/system.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

void *hs_memory__map_huge(size_t length)
{
    char *memory = hs_memory__map(2 * length);
    if (!memory)
        return hs_memory__map(length);
    size_t before = -(uintptr_t)memory & (length - 1);
    if (before)
        hs_memory__unmap(memory, before);
    hs_memory__unmap(memory + before + length, length - before);
    HS_SYSTEM3(SYS_madvise, memory + before, length, MADV_HUGEPAGE);
    return memory + before;
}

void hs_memory__unmap(void *memory, size_t length)
{
    hs_system_munmap(memory, length);
}

bool hs_memory__replace(void *memory, void *fresh, size_t length)
{
    long moved = HS_SYSTEM5(SYS_mremap, fresh, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, memory);
    if (!hs_system_failed(moved))
        return true;
    hs_memory__unmap(fresh, length);
    return false;
}

uintptr_t hs_memory__auxiliary(unsigned long wanted)
{
    unsigned long pair[2];
    uintptr_t value = 0;
    long fd = hs_system_open("/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    while (hs_system_read((int)fd, pair, sizeof pair) == (long)sizeof pair)
        if (pair[0] == wanted)
            value = pair[1];
    hs_system_close((int)fd);
    return value;
}

size_t hs_memory__page_size(void)
{
    static size_t page_size;
    size_t known = __atomic_load_n(&page_size, __ATOMIC_RELAXED);
    if (known == 0) {
        known = hs_memory__auxiliary(AT_PAGESZ);
        known = known ? known : 4096;
        __atomic_store_n(&page_size, known, __ATOMIC_RELAXED);
    }
    return known;
}

size_t hs_memory__read(uintptr_t address, void *buffer, size_t length)
{
    struct iovec local = {.iov_base = buffer, .iov_len = length};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = length};
    if (hs_system_forbids(HS_FORBIDDEN_PROBES))
        return 0;
    long result = HS_SYSTEM6(SYS_process_vm_readv, hs_system_getpid(), &local, 1, &remote, 1, 0);
    return result < 0 ? 0 : (size_t)result;
}
