// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define LITTLE      ((uint64_t)4 << 20)
#define LITTLE_TEXT ((uint64_t)16 << 20)
#define LIVE_LEAST  ((uint64_t)12 << 20)
#define LIVE_TIMES  16   // recordings of programs have less than one for each byte
#define ANYWAY      128  // MiB that a command takes for threads, buffers and libraries
#define STACKS      1024 // that many stacks take all of the memory
#define STACK_LEAST ((uint64_t)512 << 10)
#define STEP        64 // MiB: advice is rounded up to a multiple

static uint64_t most;
static bool given;

static uint64_t of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 * 3 : 0;
}

size_t hs_memory__stack(void)
{
    pthread_attr_t attributes;
    size_t size = 0;
    pthread_attr_init(&attributes);
    if (!pthread_getattr_default_np(&attributes))
        pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

static void limit_stacks(void)
{
    pthread_attr_t attributes;
    const uint64_t size = most / STACKS > STACK_LEAST ? most / STACKS : STACK_LEAST;
    if (size >= hs_memory__stack())
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size / STACK_LEAST * STACK_LEAST);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

void hs_memory__limit(uint64_t bytes)
{
    struct rlimit limit;
    given = bytes != 0;
    most = bytes ? bytes : of_machine();
    if (!most || !HS_MEMORY_IS_LIMITED || getrlimit(RLIMIT_DATA, &limit))
        return;
    if (most < limit.rlim_cur) {
        limit.rlim_cur = most;
        setrlimit(RLIMIT_DATA, &limit);
    } else {
        most = limit.rlim_cur;
    }
    limit_stacks();
}

uint64_t hs_memory__most(void)
{
    return most;
}

// What the kernel counts for RLIMIT_DATA, the sixth number, together with the first thread's stack. 0: not known.
static uint64_t taken(void)
{
    char text[256];
    unsigned long pages = 0;
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = 0;
    if (sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool hs_memory__has_room(uint64_t bytes)
{
    if (!most || !HS_MEMORY_IS_LIMITED)
        return true;
    const uint64_t now = taken();
    return now < most && most - now >= bytes;
}

uint64_t hs_memory__unpacked(uint64_t packed, unsigned times)
{
    if (given)
        return most;
    if (packed < LITTLE / times)
        return LITTLE;
    return packed < UINT64_MAX / times ? packed * times : UINT64_MAX;
}

uint64_t hs_memory__unpacked_text(uint64_t packed, unsigned times)
{
    uint64_t bytes = hs_memory__unpacked(packed, times);
    return given || bytes > LITTLE_TEXT ? bytes : LITTLE_TEXT;
}

uint64_t hs_memory__live_blocks(uint64_t packed)
{
    uint64_t blocks = hs_memory__unpacked(packed, LIVE_TIMES);
    return blocks < UINT64_MAX - LIVE_LEAST ? blocks + LIVE_LEAST : UINT64_MAX;
}

struct hs_memory_advice hs_memory__advice(uint64_t bytes)
{
    struct hs_memory_advice advice = {"--memory SIZE allows more"};
    uint64_t steps = ((bytes >> 20) + ANYWAY) / STEP + 1;
    if (bytes)
        snprintf(advice.text, sizeof(advice.text), "--memory %" PRIu64 "M is enough", steps * STEP);
    return advice;
}
