// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether there is CPU pressure, so that the writer takes CPU time from the program.
#ifndef HEAPSONDE_RUNTIME_LOAD_H
#define HEAPSONDE_RUNTIME_LOAD_H

#include <stdbool.h>

// Prepares hs_load__is_high(). Counts the processors that the calling thread may run on. Opens a descriptor in the
// table of the calling thread, so that no file is opened later, when a filter of system calls may forbid it.
void hs_load__watch(void);

// The number of processors that hs_load__watch() has counted; 1 if the kernel does not tell, 0 before.
unsigned hs_load__processors(void);

// Forgets the descriptor, which was closed or belongs to the table of another process.
void hs_load__forget(void);

// Whether more threads of the whole machine are ready to run than there are processors for the thread that called
// hs_load__watch(). If that thread may not use all processors, this is an estimate. False if it is not known. Makes a
// system call. For threads that share that thread's table of descriptors.
bool hs_load__is_high(void);

// The number of threads that are ready to run, from a line of /proc/loadavg; 0: invalid line.
unsigned hs_load__runnable(const char *line);

#endif
