// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether processors are short, so that the writer's work is taken from the program's.
#ifndef HEAPSONDE_RUNTIME_LOAD_H
#define HEAPSONDE_RUNTIME_LOAD_H

#include <stdbool.h>

// From now on hs_load__is_high() looks. Counts the processors that the calling thread may run on. Opens a descriptor in
// the table of the calling thread, so that no file is opened later, when a filter of system calls may forbid it.
void hs_load__watch(void);

// As hs_load__watch() has counted them; 1 where the kernel does not say, 0 before.
unsigned hs_load__processors(void);

// The descriptor is gone, or belongs to another process's table.
void hs_load__forget(void);

// Whether more threads of the whole machine want to run now than there are processors for the thread that called
// hs_load__watch(): where that may not use all of them, a guess. False where nobody says. A system call. For threads
// that share that thread's table of descriptors.
bool hs_load__is_high(void);

// How many threads want to run, by a line of /proc/loadavg; 0 when it is no such line.
unsigned hs_load__runnable(const char *line);

#endif
