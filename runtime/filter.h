// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters of system calls that the program sets for itself (seccomp(2)): finds which of our calls would end it.
#ifndef HEAPSONDE_RUNTIME_FILTER_H
#define HEAPSONDE_RUNTIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

// `mode`: SECCOMP_MODE_*, with a filter `program` (struct sock_fprog, as the program passes it). Returns the
// HS_FORBIDDEN_* of what it forbids: nothing if the kernel will refuse to set it.
uint32_t hs_filter__forbids(uint64_t mode, const void *program);

// These calls are not made any more from now on.
void hs_filter__obey(uint32_t forbidden, bool all_threads);

#endif
