// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_ARCH_AMD64_THREAD_H
#define HEAPSONDE_ARCH_AMD64_THREAD_H

#include "syscall.h"

#include <stdint.h>

// Starts `entry(argument)` in a new task with clone(2) `flags` on the stack that ends at `stack_top` (16-byte aligned).
// The task has no libc thread state: it must not touch TLS or call libc. `entry` must not return.
// Returns the new tid, or -errno.
long hs_arch_clone_thread(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument);

// The thread pointer (the address of libc's thread control block), 0 before libc has set it.
static inline uintptr_t hs_arch_thread_pointer(void)
{
    uintptr_t self;
    __asm__ volatile("movq %%fs:0, %0" : "=r"(self));
    return self;
}

// Makes `pointer` the thread pointer of the calling thread, one of ours without libc: the word there is writable.
static inline void hs_arch_set_thread_pointer(uintptr_t pointer)
{
    *(uintptr_t *)pointer = pointer;                            // read through %fs:0
    hs_arch_syscall(158, 2, 0x1002, (long)pointer, 0, 0, 0, 0); // arch_prctl, ARCH_SET_FS
}

#endif
