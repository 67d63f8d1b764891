// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether what is resident came with page faults alone. Where a huge page cannot be had at once small ones come, and
// khugepaged may replace them later, which makes pages between them resident that nobody has touched.
#ifndef HEAPSONDE_TESTS_PERF_PUT_TOGETHER_H
#define HEAPSONDE_TESTS_PERF_PUT_TOGETHER_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Huge pages for which the kernel was about to put small ones together, anybody's, since it was started. Takes no
// memory: a program's allocations are counted.
static unsigned long long pages_put_together(void)
{
    static char counters[16384];
    static const char name[] = "\nthp_collapse_alloc ";
    size_t length = 0;
    ssize_t more;
    int file = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && (more = read(file, counters + length, sizeof counters - 1 - length)) > 0)
        length += (size_t)more;
    if (file >= 0)
        close(file);
    counters[length] = 0;
    const char *found = strstr(counters, name);
    return found ? strtoull(found + sizeof name - 1, NULL, 10) : 0;
}

#endif
