// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_GATHER_CLOCK_H
#define HEAPSONDE_HOST_GATHER_CLOCK_H

#include <stdint.h>
#include <time.h>

#define HS_MILLISECOND ((uint64_t)1000000)
#define HS_SECOND      (1000 * HS_MILLISECOND)

static inline uint64_t hs_clock__now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * HS_SECOND + (uint64_t)now.tv_nsec;
}

#endif
