// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The time in nanoseconds.
#ifndef HEAPSONDE_BASE_CLOCK_H
#define HEAPSONDE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define HS_MILLISECOND UINT64_C(1000000)
#define HS_SECOND      UINT64_C(1000000000)

static inline uint64_t hs_clock__ns_of(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * HS_SECOND + (uint64_t)now.tv_nsec;
}

// Since an unknown time; never goes back.
static inline uint64_t hs_clock__now(void)
{
    return hs_clock__ns_of(CLOCK_MONOTONIC);
}

// Since 1970.
static inline uint64_t hs_clock__realtime(void)
{
    return hs_clock__ns_of(CLOCK_REALTIME);
}

// CPU time that the calling thread has used.
static inline uint64_t hs_clock__thread_cpu(void)
{
    return hs_clock__ns_of(CLOCK_THREAD_CPUTIME_ID);
}

#endif
