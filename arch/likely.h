// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which way a condition nearly always goes: what the compiler lays out as the straight path.
#ifndef HEAPSONDE_ARCH_LIKELY_H
#define HEAPSONDE_ARCH_LIKELY_H

#define HS_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define HS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#endif
