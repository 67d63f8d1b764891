// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One raw system call of the n64 ABI. Never touches errno, TLS or libc; async-signal-safe.
#ifndef HEAPSONDE_ARCH_MIPS64_SYSCALL_H
#define HEAPSONDE_ARCH_MIPS64_SYSCALL_H

#if __mips_isa_rev < 6
#define HS_MIPS_MULTIPLIER , "hi", "lo"
#else
#define HS_MIPS_MULTIPLIER
#endif

// What the kernel may change besides the registers of results.
#define HS_MIPS_CHANGED "$1", "$3", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory" HS_MIPS_MULTIPLIER

// `count`, a constant: how many of the arguments the kernel looks at. It reports failure in $7, with a positive errno
// in $2.
__attribute__((always_inline)) static inline long hs_arch_syscall(long number, unsigned count, long a, long b, long c,
                                                                  long d, long e, long f)
{
    register long v0 __asm__("$2") = number;
    register long a0 __asm__("$4") = a;
    register long a1 __asm__("$5") = b;
    register long a2 __asm__("$6") = c;
    register long a3 __asm__("$7") = d;
    register long a4 __asm__("$8") = e;
    register long a5 __asm__("$9") = f;
    switch (count) {
    case 0:
        __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : : "$8", "$9", HS_MIPS_CHANGED);
        break;
    case 1:
        __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0) : "$8", "$9", HS_MIPS_CHANGED);
        break;
    case 2:
        __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1) : "$8", "$9", HS_MIPS_CHANGED);
        break;
    case 3:
        __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2) : "$8", "$9", HS_MIPS_CHANGED);
        break;
    case 4:
        __asm__ volatile("syscall" : "+r"(v0), "+r"(a3) : "r"(a0), "r"(a1), "r"(a2) : "$8", "$9", HS_MIPS_CHANGED);
        break;
    default:
        __asm__ volatile("syscall"
                         : "+r"(v0), "+r"(a3), "+r"(a4), "+r"(a5)
                         : "r"(a0), "r"(a1), "r"(a2)
                         : HS_MIPS_CHANGED);
    }
    return a3 ? -v0 : v0;
}

#endif
