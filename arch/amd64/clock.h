// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The time stamp counter.
#ifndef HEAPSONDE_ARCH_AMD64_CLOCK_H
#define HEAPSONDE_ARCH_AMD64_CLOCK_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

// A few billion ticks a second: recorded time needs no such precision.
#define HS_ARCH_TICK_SHIFT 1

// Ticks now; the CPU may execute it earlier or later than its neighbours.
static inline uint64_t hs_arch_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

// Whether the counter runs at one rate in every power state.
// Source: Intel SDM volume 3, 17.17.1 (invariant TSC).
static inline bool hs_arch_ticks_usable(void)
{
    uint32_t a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

#endif
