// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One raw system call of the EABI. Never touches errno, TLS or libc; async-signal-safe.
#ifndef HEAPSONDE_ARCH_ARM_SYSCALL_H
#define HEAPSONDE_ARCH_ARM_SYSCALL_H

// r7 holds the number, and in Thumb code it is also the frame pointer, which the compiler does not lend.
static inline long hs_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    long kept;
    __asm__ volatile("mov %1, r7\n\tmov r7, %2\n\tsvc #0\n\tmov r7, %1"
                     : "+r"(r0), "=&r"(kept)
                     : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory");
    return r0;
}

#endif
