// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One raw system call. Never touches errno, TLS or libc; async-signal-safe.
#ifndef HEAPSONDE_ARCH_AARCH64_SYSCALL_H
#define HEAPSONDE_ARCH_AARCH64_SYSCALL_H

// `count`, a constant: how many of the arguments the kernel looks at.
__attribute__((always_inline)) static inline long hs_arch_syscall(long number, unsigned count, long a, long b, long c,
                                                                  long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    switch (count) {
    case 0:
        __asm__ volatile("svc #0" : "=r"(x0) : "r"(x8) : "memory");
        break;
    case 1:
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8) : "memory");
        break;
    case 2:
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
        break;
    case 3:
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
        break;
    case 4:
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
        break;
    case 5:
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
        break;
    default:
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    }
    return x0;
}

#endif
