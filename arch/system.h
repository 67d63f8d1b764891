// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Thin system calls for the target half. Every function returns what the kernel returns: a value >= 0, or -errno.
// None touches errno, TLS or libc; all are async-signal-safe.
#ifndef HEAPSONDE_ARCH_SYSTEM_H
#define HEAPSONDE_ARCH_SYSTEM_H

#include "arch/arch.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define HS_SYSTEM0(n)                hs_arch_syscall(n, 0, 0, 0, 0, 0, 0)
#define HS_SYSTEM1(n, a)             hs_arch_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define HS_SYSTEM2(n, a, b)          hs_arch_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define HS_SYSTEM3(n, a, b, c)       hs_arch_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define HS_SYSTEM4(n, a, b, c, d)    hs_arch_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define HS_SYSTEM5(n, a, b, c, d, e) hs_arch_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define HS_SYSTEM6(n, a, b, c, d, e, f)                                                                                \
    hs_arch_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

// True for a pointer-valued result that is -errno.
static inline int hs_system_failed(long result)
{
    return (unsigned long)result > -4096ul;
}

static inline long hs_system_open(const char *path, int flags, int mode)
{
    return HS_SYSTEM4(SYS_openat, -100, path, flags, mode);
}

static inline long hs_system_close(int fd)
{
    return HS_SYSTEM1(SYS_close, fd);
}

static inline long hs_system_read(int fd, void *buffer, size_t length)
{
    return HS_SYSTEM3(SYS_read, fd, buffer, length);
}

static inline long hs_system_write(int fd, const void *buffer, size_t length)
{
    return HS_SYSTEM3(SYS_write, fd, buffer, length);
}

// 64-bit targets only: a 32-bit port passes the offset in a register pair.
static inline long hs_system_pread(int fd, void *buffer, size_t length, uint64_t offset)
{
    return HS_SYSTEM4(SYS_pread64, fd, buffer, length, offset);
}

static inline long hs_system_pwrite(int fd, const void *buffer, size_t length, uint64_t offset)
{
    return HS_SYSTEM4(SYS_pwrite64, fd, buffer, length, offset);
}

static inline long hs_system_mmap(void *address, size_t length, int protection, int flags, int fd, uint64_t offset)
{
    return HS_SYSTEM6(SYS_mmap, address, length, protection, flags, fd, offset);
}

static inline long hs_system_munmap(void *address, size_t length)
{
    return HS_SYSTEM2(SYS_munmap, address, length);
}

static inline long hs_system_getpid(void)
{
    return HS_SYSTEM0(SYS_getpid);
}

static inline long hs_system_gettid(void)
{
    return HS_SYSTEM0(SYS_gettid);
}

#endif
