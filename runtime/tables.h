// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages of the program's own unwind tables. Whoever looks a rule up brings them into memory, and those around them with
// them; rules are kept, so the pages are not needed again soon. They are clean pages of files: giving them back loses
// nothing, and who needs one again finds it in the page cache.
//
// Only tables that were there when the program began are given back, since such modules are not unloaded: none where
// recording was to start later. Only of segments without code that nothing writes to, and only pages that the kernel
// says are the file's, so that what a program has written stays.
#ifndef HEAPSONDE_RUNTIME_TABLES_H
#define HEAPSONDE_RUNTIME_TABLES_H

#include <stdint.h>

// Remembers the tables of one module. One thread at a time.
void hs_tables__note(uintptr_t start, uintptr_t end);

// Nothing is noted from now on: recording starts later than the program, which may have loaded modules meanwhile.
void hs_tables__close(void);

// From now on pages are given back. Opens a descriptor in the table of the calling thread, so that no file is opened
// later, when a filter of system calls may forbid it.
void hs_tables__watch(void);

// In a forked child: the descriptor is gone.
void hs_tables__forget(void);

// Gives back the pages of the noted addresses, but for a first one that is not whole. For a thread whose system calls
// are not the program's, and which has called hs_tables__watch().
void hs_tables__give_back(void);

// The same if rules may have been looked up since the last time, and that was not just before.
void hs_tables__give_back_if_due(void);

#endif
