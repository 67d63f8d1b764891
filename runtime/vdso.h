// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel's own function that tells the time without a system call, in what it maps into each process. A C library's
// function of that kind may be the program's, or another preloaded library's, and not fit for a thread that has none of
// its variables.
#ifndef HEAPSONDE_RUNTIME_VDSO_H
#define HEAPSONDE_RUNTIME_VDSO_H

#include "arch/system.h"

typedef long hs_vdso_clock(int clock, struct hs_time *time);

// NULL where there is none, or before it was looked for. 0 when it has told the time.
extern hs_vdso_clock *hs_vdso__clock;

void hs_vdso__find(void);

#endif
