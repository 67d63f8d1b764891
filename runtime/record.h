// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Recording one event: the hot path. A hook does (runtime/enter.h)
//
//     struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);   // NULL: pass the call through
//     void *block = real_malloc(size);
//     hs_record__allocation(thread, ...);                           // stamps after the allocator
//     hs_record__leave(thread);
//
// The stamp is read without waiting for earlier instructions. The stack walk between is longer than the CPU's
// out-of-order window, so the stamp is never earlier than the allocation.
//
// Between enter and leave the thread is inside the real function; nested hooks pass through. A free is recorded before
// the real free, so that sorting all events by time never shows an address live twice.
#ifndef HEAPSONDE_RUNTIME_RECORD_H
#define HEAPSONDE_RUNTIME_RECORD_H

#include "format/trace_format.h"
#include "runtime/threads.h"

#include <stddef.h>
#include <stdint.h>

// `kind`: HS_RECORD_MALLOC, HS_RECORD_CALLOC or HS_RECORD_ALIGNED. `usable`: the usable size.
void hs_record__allocation(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind,
                           uintptr_t address, size_t size, size_t usable);

// `caller` is used only if stacks of frees are recorded.
void hs_record__free(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t address);

// The same for a free that happened at `when` or later, but not before the thread's previous event.
void hs_record__free_at(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t address, uint64_t when);

// `began`: recorded time before the real realloc, which has freed `old` at some time since.
void hs_record__reallocation(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t old, uint64_t began,
                             uintptr_t address, size_t size, size_t usable);

// A record of kind enum hs_wide. The caller's stack, shifted left by `stack_shift`, is combined (OR) with the word at
// `stack_word`; HS_RECORD_NO_STACK: no stack.
#define HS_RECORD_NO_STACK 0xffu
void hs_record__wide(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind, uint64_t *words,
                     uint32_t count, uint32_t stack_word, uint32_t stack_shift);

#endif
