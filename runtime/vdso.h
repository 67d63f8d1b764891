// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel's function in the vdso that reads the time without a system call. The C library's function is not used: it
// may be replaced by the program or another preloaded library, and may need thread-local variables, which our threads
// do not have.
#ifndef HEAPSONDE_RUNTIME_VDSO_H
#define HEAPSONDE_RUNTIME_VDSO_H

#include "arch/system.h"

typedef long hs_vdso_clock(int clock, struct hs_time *time);

// NULL: not available, or not searched yet. Returns 0 on success.
extern hs_vdso_clock *hs_vdso__clock;

void hs_vdso__find(void);

#endif
