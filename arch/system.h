// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Thin system calls for the target half. Every function returns what the kernel returns: a value >= 0, or -errno.
// None touches errno, TLS or libc; all are async-signal-safe. Those of more than a few instructions are in system.c.
#ifndef HEAPSONDE_ARCH_SYSTEM_H
#define HEAPSONDE_ARCH_SYSTEM_H

#include "arch/arch.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define HS_SYSTEM0(n)                hs_arch_syscall(n, 0, 0, 0, 0, 0, 0, 0)
#define HS_SYSTEM1(n, a)             hs_arch_syscall(n, 1, (long)(a), 0, 0, 0, 0, 0)
#define HS_SYSTEM2(n, a, b)          hs_arch_syscall(n, 2, (long)(a), (long)(b), 0, 0, 0, 0)
#define HS_SYSTEM3(n, a, b, c)       hs_arch_syscall(n, 3, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define HS_SYSTEM4(n, a, b, c, d)    hs_arch_syscall(n, 4, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define HS_SYSTEM5(n, a, b, c, d, e) hs_arch_syscall(n, 5, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define HS_SYSTEM6(n, a, b, c, d, e, f)                                                                                \
    hs_arch_syscall(n, 6, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

// True for a pointer-valued result that is -errno.
static inline int hs_system_failed(long result)
{
    return (unsigned long)result > -4096ul;
}

// Arguments of 64 bits: where registers have 32, a pair of them that begins with an even one, low half first.
#define HS_SYSTEM_LOW(value)  (uint32_t)(value)
#define HS_SYSTEM_HIGH(value) (uint32_t)((uint64_t)(value) >> 32)

struct hs_time {
    int64_t seconds, nanoseconds;
};

struct hs_file_status {
    uint64_t device, inode, size;
    uint32_t mode, user, links;
};

struct hs_limit {
    uint64_t current, maximum; // UINT64_MAX: none
};

struct hs_signal_set {
    uint64_t words[HS_KERNEL_SIGSET_SIZE / 8];
};

// Zeroed memory. NULL: there is none.
void *hs_system_memory(size_t size);

long hs_system_open(const char *path, int flags, int mode);

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

static inline long hs_system_pread(int fd, void *buffer, size_t length, uint64_t offset)
{
#if __SIZEOF_POINTER__ == 4
    return HS_SYSTEM6(SYS_pread64, fd, buffer, length, 0, HS_SYSTEM_LOW(offset), HS_SYSTEM_HIGH(offset));
#else
    return HS_SYSTEM4(SYS_pread64, fd, buffer, length, offset);
#endif
}

static inline long hs_system_pwrite(int fd, const void *buffer, size_t length, uint64_t offset)
{
#if __SIZEOF_POINTER__ == 4
    return HS_SYSTEM6(SYS_pwrite64, fd, buffer, length, 0, HS_SYSTEM_LOW(offset), HS_SYSTEM_HIGH(offset));
#else
    return HS_SYSTEM4(SYS_pwrite64, fd, buffer, length, offset);
#endif
}

// `parts`: struct iovec. Everywhere the two halves of the offset are arguments of their own.
static inline long hs_system_pwritev(int fd, const void *parts, unsigned count, uint64_t offset)
{
#if __SIZEOF_POINTER__ == 4
    return HS_SYSTEM5(SYS_pwritev, fd, parts, count, HS_SYSTEM_LOW(offset), HS_SYSTEM_HIGH(offset));
#else
    return HS_SYSTEM5(SYS_pwritev, fd, parts, count, offset, 0);
#endif
}

// fallocate(2) without flags.
static inline long hs_system_allocate(int fd, uint64_t offset, uint64_t length)
{
#if __SIZEOF_POINTER__ == 4
    return HS_SYSTEM6(SYS_fallocate, fd, 0, HS_SYSTEM_LOW(offset), HS_SYSTEM_HIGH(offset), HS_SYSTEM_LOW(length),
                      HS_SYSTEM_HIGH(length));
#else
    return HS_SYSTEM4(SYS_fallocate, fd, 0, offset, length);
#endif
}

// `offset`: a multiple of the page size.
static inline long hs_system_mmap(void *address, size_t length, int protection, int flags, int fd, uint64_t offset)
{
#if __SIZEOF_POINTER__ == 4
    if (offset >> 44 || offset & 4095)
        return -22; // EINVAL
    return HS_SYSTEM6(SYS_mmap2, address, length, protection, flags, fd, offset >> 12);
#else
    return HS_SYSTEM6(SYS_mmap, address, length, protection, flags, fd, offset);
#endif
}

static inline long hs_system_munmap(void *address, size_t length)
{
    return HS_SYSTEM2(SYS_munmap, address, length);
}

// What a filter of system calls would end the program for (runtime/filter.h). The functions of this header that make
// such a call then do without: they fail with EPERM, or return what else tells processes and threads apart.
enum {
    HS_FORBIDDEN_FILES = 1,  // looking for files and reading them
    HS_FORBIDDEN_PROBES = 2, // asking whether memory can be read
    HS_FORBIDDEN_NAMES = 4,  // threads' names, whether they are there, and how much memory there is
    HS_FORBIDDEN_PID = 8,
    HS_FORBIDDEN_TID = 16,
    HS_FORBIDDEN_WRITING = 32, // what the writer does
    HS_FORBIDDEN_MEMORY = 64,  // without which there is nothing
    HS_FORBIDDEN_OTHERS = 128, // what only our own threads do
    HS_FORBIDDEN_SOCKETS = 256,
    HS_FORBIDDEN_RIGHTS = 512, // asking which rights the program has
    HS_FORBIDDEN_MOVING = 1024 // of mappings
};
extern uint32_t hs_system_forbidden[2]; // to the program's threads, to all
extern uint32_t hs_system_process;      // where it can no more be asked for

bool hs_system_forbids(uint32_t what); // this thread

long hs_system_getpid(void);
long hs_system_gettid(void);

long hs_system_status(int fd, struct hs_file_status *status);

// `flags`: 0 or AT_SYMLINK_NOFOLLOW.
long hs_system_status_at(int folder, const char *path, int flags, struct hs_file_status *status);

static inline long hs_system_status_of(const char *path, int flags, struct hs_file_status *status)
{
    return hs_system_status_at(-100, path, flags, status);
}

static inline long hs_system_limit(int resource, struct hs_limit *limit)
{
    return HS_SYSTEM4(SYS_prlimit64, 0, resource, 0, limit);
}

static inline long hs_system_readlink(const char *path, char *buffer, size_t size)
{
    return HS_SYSTEM4(SYS_readlinkat, -100, path, buffer, size);
}

// The files below /proc/self say nothing once the program's first thread has ended; those below /proc/thread-self still
// do. They come second, since QEMU's user mode shows the program's own view in the former only.
long hs_system_open_own(const char *self, const char *thread_self);

#define HS_SYSTEM_OPEN_OWN(name) hs_system_open_own("/proc/self/" name, "/proc/thread-self/" name)

// The path of the program; its length, not terminated.
long hs_system_executable(char *buffer, size_t size);

static inline long hs_system_clock(int clock, struct hs_time *time)
{
#if __SIZEOF_POINTER__ == 4
    if (HS_SYSTEM2(HS_KERNEL_CLOCK_GETTIME64, clock, time) == 0)
        return 0;
    int32_t narrow[2] = {0, 0};
    long result = HS_SYSTEM2(HS_KERNEL_CLOCK_GETTIME, clock, narrow);
    *time = (struct hs_time){narrow[0], narrow[1]};
    return result;
#else
    return HS_SYSTEM2(HS_KERNEL_CLOCK_GETTIME, clock, time);
#endif
}

// Of a negative number, which stands for no time, anything.
static inline struct hs_time hs_system_time(int64_t nanoseconds)
{
    uint64_t seconds = (uint64_t)nanoseconds / 1000000000;
    return (struct hs_time){(int64_t)seconds, (int64_t)((uint64_t)nanoseconds - seconds * 1000000000)};
}

// `timeout_ns` < 0: none.
long hs_system_futex(const void *word, int operation, uint32_t value, int64_t timeout_ns);

// `files`: struct pollfd. `timeout_ns` < 0: none.
long hs_system_poll(void *files, unsigned count, int64_t timeout_ns);

// Blocks every signal of the calling thread; hs_system_restore_signals() takes back what was blocked before.
void hs_system_block_signals(struct hs_signal_set *before);

void hs_system_restore_signals(const struct hs_signal_set *before);

#endif
