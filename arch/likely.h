// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which way a condition nearly always goes: what the compiler lays out as the straight path.
#ifndef HEAPSONDE_ARCH_LIKELY_H
#define HEAPSONDE_ARCH_LIKELY_H

#define HS_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define HS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

// Before a function that is rarely called: it is compiled for size, in files that are compiled for speed, too, and what
// leads to it is not laid out as the straight path.
#define HS_COLD __attribute__((cold))

#endif
