// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of automatic dumps, and which of these files are kept. Used by one dump at a time, with signals blocked.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_NAME_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum hs_dump_kind { HS_DUMP_FINAL = 'f', HS_DUMP_INTERVAL = 'i', HS_DUMP_MANUAL = 'm', HS_DUMP_PEAK = 'u' };

#pragma GCC visibility push(hidden)
// The next name of a kind, in `name` (HS_PROF_PATH bytes), and its number within the kind. False: automatic names are
// switched off, or the name is too long. Every call uses one number.
bool hs_dump_name__next(enum hs_dump_kind kind, char *name, uint32_t *number);

// Whether there are automatic names: the prefix or the template is not empty, and dumps are not only streamed.
bool hs_dump_name__is_wanted(void);

void hs_dump_name__set_prefix(const char *prefix);

// The current prefix.
const char *hs_dump_name__prefix(void);

// Called after a dump with an automatic name. Removes the oldest dumps of this process beyond the limits, and, if only
// the highest peak is kept, the previous one. Manual dumps are neither counted nor removed.
void hs_dump_name__written(enum hs_dump_kind kind, const char *name, uint64_t size);

// In a forked child: the existing files belong to the parent.
void hs_dump_name__after_fork(void);
#pragma GCC visibility pop

#endif
