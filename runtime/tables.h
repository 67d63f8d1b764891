// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Returns pages of the program's unwind tables to the kernel. Looking up a rule brings these pages and their neighbours
// into memory. Rules are cached, so the pages are not needed again soon. They are clean pages of files: nothing is
// lost, and a page that is needed again is in the page cache.
//
// Only tables of modules that were loaded when the program began are returned, because these modules are not unloaded.
// If recording starts later, there are none: others may be mapped at their addresses by then, and what a program
// writes between the kernel's word and the return of a page would be lost. Only segments without code are used that
// nobody writes to, and only pages that belong to the file according to the kernel. So data that the program has
// written is kept.
#ifndef HEAPSONDE_RUNTIME_TABLES_H
#define HEAPSONDE_RUNTIME_TABLES_H

#include <stdint.h>

// Adds the tables of one module. One thread at a time.
void hs_tables__note(uintptr_t start, uintptr_t end);

// No more tables are added: recording starts later than the program, which may have loaded modules meanwhile.
void hs_tables__close(void);

// Starts returning pages, unless there are none to come. Opens a descriptor in the table of the calling thread, so that
// no file is opened later, when a filter of system calls may forbid it.
void hs_tables__watch(void);

// In a forked child: the descriptor is gone.
void hs_tables__forget(void);

// Returns the pages of the noted addresses, except an incomplete first one. For a thread of the recorder that has
// called hs_tables__watch().
void hs_tables__give_back(void);

// The same, if rules may have been looked up since the last time, because there are more `nodes` of stacks, and some
// time has passed.
void hs_tables__give_back_if_due(uint32_t nodes);

#endif
