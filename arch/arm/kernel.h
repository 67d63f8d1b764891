// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernel interfaces whose form a libc hides or whose number its headers may not have: the numbers and layouts of the
// kernel itself.
#ifndef HEAPSONDE_ARCH_ARM_KERNEL_H
#define HEAPSONDE_ARCH_ARM_KERNEL_H

#include <stdint.h>

// These have 64 bits for seconds; kernels before 5.1 lack them, and newer ones may lack the others.
#define HS_KERNEL_VDSO_CLOCK      "__vdso_clock_gettime64"
#define HS_KERNEL_AUDIT_ARCH      0x40000028u
#define HS_KERNEL_CLOCK_GETTIME64 403
#define HS_KERNEL_FUTEX_TIME64    422
#define HS_KERNEL_PPOLL_TIME64    414
#define HS_KERNEL_CLOCK_GETTIME   263
#define HS_KERNEL_FUTEX           240
#define HS_KERNEL_FSTAT           197 // fstat64
#define HS_KERNEL_FSTATAT         327 // fstatat64
#define HS_KERNEL_FCHOWN          207 // fchown32
#define HS_KERNEL_GETEUID         201 // geteuid32
#define HS_KERNEL_GETGID          200 // getgid32
#define HS_KERNEL_GETRANDOM       384
#define HS_KERNEL_CLOSE_RANGE     436
#define HS_KERNEL_OPEN_FLAGS      0400000 // added to every open: O_LARGEFILE
#define HS_KERNEL_SIG_SETMASK     2
#define HS_KERNEL_SIGSET_SIZE     8

// The kernel's struct stat64: 104 bytes.
struct hs_kernel_stat {
    uint64_t device;
    uint32_t padding0, short_inode;
    uint32_t mode, links, user, group;
    uint64_t special_device;
    uint64_t padding1;
    uint64_t size;
    uint64_t block_size, blocks;
    uint32_t times[6];
    uint64_t inode;
};

#endif
