// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of allocators that no dynamic symbol of this library stands before: a loader has patched them
// (format/attach.h).
#ifndef HEAPSONDE_SHIMS_PROF_ADOPTED_H
#define HEAPSONDE_SHIMS_PROF_ADOPTED_H

#if defined(__x86_64__) && defined(__LP64__) // where host/inject has an architecture
#include "arch/amd64/hook_entry.h"

// What they jump to.
void hs_adopted__enter(void) __attribute__((visibility("hidden")));
#endif

#endif
