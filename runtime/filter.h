// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters of system calls that the program sets for itself (seccomp(2)): which of our calls they would end it for.
#ifndef HEAPSONDE_RUNTIME_FILTER_H
#define HEAPSONDE_RUNTIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

// `program`: struct sock_fprog, NULL for the strict mode. HS_FORBIDDEN_* of what it forbids.
uint32_t hs_filter__forbids(const void *program);

// From here on these are not called any more.
void hs_filter__obey(uint32_t forbidden, bool all_threads);

#endif
