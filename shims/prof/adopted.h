// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of allocators that no dynamic symbol of this library stands before: a loader has patched them
// (format/attach.h).
#ifndef HEAPSONDE_SHIMS_PROF_ADOPTED_H
#define HEAPSONDE_SHIMS_PROF_ADOPTED_H

// Where host/inject has an architecture.
#if defined(__x86_64__) && defined(__LP64__)
#include "arch/amd64/hook_entry.h"
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#include "arch/aarch64/hook_entry.h"
#elif defined(__arm__) && defined(__ARMEL__)
#include "arch/arm/hook_entry.h"
#endif

#ifdef HS_ARCH_HOOK_ENTRY
// What they jump to.
void hs_adopted__enter(void) __attribute__((visibility("hidden")));
#endif

#endif
