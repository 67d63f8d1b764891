// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_ARCH_ARM_THREAD_H
#define HEAPSONDE_ARCH_ARM_THREAD_H

#include "syscall.h"

#include <stdint.h>

// Starts `entry(argument)` in a new task with clone(2) `flags` on the stack that ends at `stack_top` (8-byte aligned).
// The task has no libc thread state: it must not touch TLS or call libc. `entry` must not return.
// Returns the new tid, or -errno.
long hs_arch_clone_thread(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument);

// The thread pointer (libc's thread control block begins there), 0 before libc has set it. Processors before ARMv6K
// have no register for it: the compiler then asks the kernel's helper.
static inline uintptr_t hs_arch_thread_pointer(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

// Makes `pointer` the thread pointer of the calling thread, one of ours without libc: the word there is writable.
static inline void hs_arch_set_thread_pointer(uintptr_t pointer)
{
    hs_arch_syscall(0xf0005, 1, (long)pointer, 0, 0, 0, 0, 0); // set_tls
}

#endif
