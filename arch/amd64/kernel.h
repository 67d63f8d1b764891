// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kernel interfaces whose form a libc hides or whose number its headers may not have: the numbers and layouts of the
// kernel itself.
#ifndef HEAPSONDE_ARCH_AMD64_KERNEL_H
#define HEAPSONDE_ARCH_AMD64_KERNEL_H

#include <stdint.h>

#define HS_KERNEL_VDSO_CLOCK    "__vdso_clock_gettime"
#define HS_KERNEL_AUDIT_ARCH    0xc000003eu
#define HS_KERNEL_CLOCK_GETTIME 228
#define HS_KERNEL_FUTEX         202
#define HS_KERNEL_FSTAT         5
#define HS_KERNEL_FSTATAT       262
#define HS_KERNEL_FCHOWN        93
#define HS_KERNEL_GETEUID       107
#define HS_KERNEL_GETGID        104
#define HS_KERNEL_GETRANDOM     318
#define HS_KERNEL_CLOSE_RANGE   436
#define HS_KERNEL_OPEN_FLAGS    0 // added to every open
#define HS_KERNEL_SIG_SETMASK   2
#define HS_KERNEL_SIGSET_SIZE   8

// The beginning of the kernel's struct stat; 144 bytes in all.
struct hs_kernel_stat {
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint32_t mode, user, group, padding;
    uint64_t special_device;
    uint64_t size;
    uint64_t unused[11];
};

#endif
