// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The cycle counter changes its rate with the processor and differs from core to core: no counter is used.
#ifndef HEAPSONDE_ARCH_MIPS64_CLOCK_H
#define HEAPSONDE_ARCH_MIPS64_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define HS_ARCH_TICK_SHIFT 0

static inline uint64_t hs_arch_ticks(void)
{
    return 0;
}

static inline bool hs_arch_ticks_usable(void)
{
    return false;
}

#endif
