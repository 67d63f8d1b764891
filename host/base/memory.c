// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define LITTLE      ((uint64_t)4 << 20)
#define LITTLE_TEXT ((uint64_t)16 << 20)
#define LIVE_LEAST  ((uint64_t)12 << 20)
#define LIVE_TIMES  16  // recordings of programs have less than one for each byte
#define ANYWAY      128 // MiB that a command takes for threads, buffers and libraries
#define STEP        64  // MiB: advice is rounded up to a multiple

static uint64_t most;
static bool given;

static uint64_t of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 * 3 : 0;
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
}

uint64_t hs_memory__most(void)
{
    return most;
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
