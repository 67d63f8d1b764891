// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The generic timer is not in every processor, and the kernel may keep user code from it: no counter is used.
#ifndef HEAPSONDE_ARCH_ARM_CLOCK_H
#define HEAPSONDE_ARCH_ARM_CLOCK_H

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
