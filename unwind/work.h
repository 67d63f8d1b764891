// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Limits the work of all lookups together, in bytes that are read, for files that are not trusted (host/unwind).
#ifndef HEAPSONDE_UNWIND_WORK_H
#define HEAPSONDE_UNWIND_WORK_H

#ifdef HS_ARCH_HEADER
#include <stdbool.h>
#include <stddef.h>
// False: no more.
bool hs_view_may_look_at(size_t bytes);
#define HS_MAY_LOOK_AT(bytes) hs_view_may_look_at(bytes)
#else
#define HS_MAY_LOOK_AT(bytes) true
#endif

#endif
