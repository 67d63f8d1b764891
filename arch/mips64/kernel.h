// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernel interfaces whose form a libc hides or whose number its headers may not have: the numbers and layouts of the
// kernel itself.
#ifndef HEAPSONDE_ARCH_MIPS64_KERNEL_H
#define HEAPSONDE_ARCH_MIPS64_KERNEL_H

#include <stdint.h>

#define HS_KERNEL_VDSO_CLOCK "__vdso_clock_gettime"
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HS_KERNEL_AUDIT_ARCH 0xc0000008u
#else
#define HS_KERNEL_AUDIT_ARCH 0x80000008u
#endif
#define HS_KERNEL_CLOCK_GETTIME 5222
#define HS_KERNEL_FUTEX         5194
#define HS_KERNEL_FSTAT         5005
#define HS_KERNEL_FSTATAT       5252
#define HS_KERNEL_FCHOWN        5091
#define HS_KERNEL_GETEUID       5105
#define HS_KERNEL_GETGID        5102
#define HS_KERNEL_GETRANDOM     5313
#define HS_KERNEL_CLOSE_RANGE   5436
#define HS_KERNEL_OPEN_FLAGS    0 // added to every open
#define HS_KERNEL_SIG_SETMASK   3
#define HS_KERNEL_SIGSET_SIZE   16

// The beginning of the kernel's struct stat; 104 bytes in all.
struct hs_kernel_stat {
    uint32_t device, padding0[3];
    uint64_t inode;
    uint32_t mode, links, user, group;
    uint32_t special_device, padding1[3];
    uint64_t size;
    uint64_t unused[5];
};

#endif
