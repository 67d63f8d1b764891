// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The virtual counter of the generic timer.
#ifndef HEAPSONDE_ARCH_AARCH64_CLOCK_H
#define HEAPSONDE_ARCH_AARCH64_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

// It ticks 1 to 1,000 million times a second: every tick counts.
#define HS_ARCH_TICK_SHIFT 0

// Ticks now; the CPU may execute it earlier or later than its neighbours.
static inline uint64_t hs_arch_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

// The architecture demands one rate in every power state and the same value on every core.
// Source: Arm Architecture Reference Manual, D11.1 (the generic timer).
static inline bool hs_arch_ticks_usable(void)
{
    return true;
}

#endif
