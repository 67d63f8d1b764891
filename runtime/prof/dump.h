// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dumps: when one is due, its name and its format. A dump is written to a temporary file beside its final name
// (.heapsonde-dump.*) and renamed, so that a file with a final name is complete. A killed process may leave the
// temporary file. There is one dump at a time. A manual dump waits for another (at most a minute); an automatic one is
// done right after it.
//
// A dump in a signal handler works and never deadlocks, even if it interrupts another dump of the same thread, which it
// does not disturb. If it interrupts the profiler while that holds its tables, nothing is written: EAGAIN. A child that
// is forked during a dump leaves the file to its parent.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_H

#include "runtime/prof/dump_name.h"
#include "runtime/prof/options.h"

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
// Writes a dump with an automatic name. Returns 0 or a positive errno; EFAULT: automatic names are switched off (the
// prefix is empty). Prints jemalloc's messages for the automatic kinds. `name` (HS_PROF_PATH bytes; may be NULL)
// becomes the name of the file.
int hs_dump__automatic(enum hs_dump_kind kind, char *name);

// Writes a dump to `path`. Returns 0 or a positive errno; prints nothing.
int hs_dump__to_file(const char *path, enum hs_dump_format format);

// After every dump to a file, also a failed one, hs_hooks.dump (runtime/prof/events.h) is called with the pointer to
// its name. No lock is held.

// Writes a dump to an open descriptor.
int hs_dump__to_descriptor(int fd, enum hs_dump_format format);

// At the end of the process: writes the final dump and the leak report, as the options request. Returns the exit status
// that prof_leak_error requires, or 0. Call once.
int hs_dump__final(void);

// prof.prefix. Truncated to HS_PROF_PATH - 1 bytes.
void hs_dump__set_prefix(const char *prefix);

// Checks the triggers for interval and high-water dumps. The sampler calls it on its slow path without locks, with the
// bytes that the thread allocated since the last call, and the live bytes of the process.
void hs_dump__consider(uint64_t allocated, uint64_t live);

// Whether one of these triggers is set. Then the sampler takes the slow path at least every 16 KiB.
bool hs_dump__watches(void);

// Called after every dump to a file, also a failed one, with the pointer to its name. No lock is held. May be NULL.
extern void (*volatile hs_dump_hook)(const char *name);

// Before and after fork: waits for the end of a dump in progress. `ticket` is what before_fork returned; 0: the dump
// went on for too long.
uint32_t hs_dump__before_fork(void);
void hs_dump__after_fork(bool in_child, uint32_t ticket);
#pragma GCC visibility pop

#endif
