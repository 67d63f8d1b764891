// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One raw system call. Never touches errno, TLS or libc; async-signal-safe.
#ifndef HEAPSONDE_ARCH_AMD64_SYSCALL_H
#define HEAPSONDE_ARCH_AMD64_SYSCALL_H

// `count`, a constant: how many of the arguments the kernel looks at.
__attribute__((always_inline)) static inline long hs_arch_syscall(long number, unsigned count, long a, long b, long c,
                                                                  long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    switch (count) {
    case 0:
        __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
        break;
    case 1:
        __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a) : "rcx", "r11", "memory");
        break;
    case 2:
        __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
        break;
    case 3:
        __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
        break;
    case 4:
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                         : "rcx", "r11", "memory");
        break;
    case 5:
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                         : "rcx", "r11", "memory");
        break;
    default:
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
    }
    return result;
}

#endif
