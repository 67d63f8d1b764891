// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel says of a block's pages.
#ifndef HEAPSONDE_TESTS_PERF_RESIDENT_H
#define HEAPSONDE_TESTS_PERF_RESIDENT_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

// Bytes of the block's pages that are in memory, or that a machine that lacks memory has swapped out; -1: not known.
__attribute__((unused)) static long long resident(const char *block, size_t size)
{
    enum { AT_ONCE = 4096, IN_MEMORY_OR_SWAPPED = 62 };
    static uint64_t entries[AT_ONCE];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first = (uintptr_t)block / page, end = ((uintptr_t)block + size + page - 1) / page, found = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    while (first < end) {
        size_t count = end - first < AT_ONCE ? end - first : AT_ONCE;
        if (pread(pagemap, entries, count * sizeof *entries, (off_t)(first * sizeof *entries)) !=
            (ssize_t)(count * sizeof *entries))
            return -1;
        for (size_t i = 0; i < count; i++)
            found += entries[i] >> IN_MEMORY_OR_SWAPPED != 0;
        first += count;
    }
    close(pagemap);
    return (long long)(found * page);
}

#endif
