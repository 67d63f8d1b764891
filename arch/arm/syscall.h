// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One raw system call of the EABI. Never touches errno, TLS or libc; async-signal-safe.
#ifndef HEAPSONDE_ARCH_ARM_SYSCALL_H
#define HEAPSONDE_ARCH_ARM_SYSCALL_H

// r7 holds the number, and in Thumb code it is also the frame pointer, which the compiler does not lend.
#define HS_ARM_SYSCALL "mov %1, r7\n\tmov r7, %2\n\tsvc #0\n\tmov r7, %1"

// `count`, a constant: how many of the arguments the kernel looks at.
__attribute__((always_inline)) static inline long hs_arch_syscall(long number, unsigned count, long a, long b, long c,
                                                                  long d, long e, long f)
{
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    long kept;
    switch (count) {
    case 0:
        __asm__ volatile(HS_ARM_SYSCALL : "=&r"(r0), "=&r"(kept) : "r"(number) : "memory");
        break;
    case 1:
        __asm__ volatile(HS_ARM_SYSCALL : "+r"(r0), "=&r"(kept) : "r"(number) : "memory");
        break;
    case 2:
        __asm__ volatile(HS_ARM_SYSCALL : "+r"(r0), "=&r"(kept) : "r"(number), "r"(r1) : "memory");
        break;
    case 3:
        __asm__ volatile(HS_ARM_SYSCALL : "+r"(r0), "=&r"(kept) : "r"(number), "r"(r1), "r"(r2) : "memory");
        break;
    case 4:
        __asm__ volatile(HS_ARM_SYSCALL : "+r"(r0), "=&r"(kept) : "r"(number), "r"(r1), "r"(r2), "r"(r3) : "memory");
        break;
    case 5:
        __asm__ volatile(HS_ARM_SYSCALL
                         : "+r"(r0), "=&r"(kept)
                         : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4)
                         : "memory");
        break;
    default:
        __asm__ volatile(HS_ARM_SYSCALL
                         : "+r"(r0), "=&r"(kept)
                         : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                         : "memory");
    }
    return r0;
}

#endif
