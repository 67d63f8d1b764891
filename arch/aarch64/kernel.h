// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernel interfaces whose form a libc hides or whose number its headers may not have: the numbers and layouts of the
// kernel itself.
#ifndef HEAPSONDE_ARCH_AARCH64_KERNEL_H
#define HEAPSONDE_ARCH_AARCH64_KERNEL_H

#include <stdint.h>

#define HS_KERNEL_VDSO_CLOCK    "__kernel_clock_gettime"
#define HS_KERNEL_AUDIT_ARCH    0xc00000b7u
#define HS_KERNEL_CLOCK_GETTIME 113
#define HS_KERNEL_FUTEX         98
#define HS_KERNEL_FSTAT         80
#define HS_KERNEL_FSTATAT       79
#define HS_KERNEL_FCHOWN        55
#define HS_KERNEL_GETEUID       175
#define HS_KERNEL_GETGID        176
#define HS_KERNEL_GETRANDOM     278
#define HS_KERNEL_CLOSE_RANGE   436
#define HS_KERNEL_OPEN_FLAGS    0 // added to every open
#define HS_KERNEL_SIG_SETMASK   2
#define HS_KERNEL_SIGSET_SIZE   8

// The beginning of the kernel's struct stat; 128 bytes in all.
struct hs_kernel_stat {
    uint64_t device;
    uint64_t inode;
    uint32_t mode, links, user, group;
    uint64_t special_device, padding;
    uint64_t size;
    uint64_t unused[9];
};

#endif
