// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arch/system.h"

#include <stdbool.h>
#include <sys/mman.h>

uint32_t hs_system_forbidden[2], hs_system_process;

// Threads of our own, whose variables read as zero, have only the filters that are for all. A loader that puts the
// library into a running process (host/inject) places this where libc has the thread's number.
static __thread volatile uint32_t is_programs __attribute__((tls_model("initial-exec"))) = 1;

bool hs_system_forbids(uint32_t what)
{
    return what & (hs_system_forbidden[1] | (is_programs ? hs_system_forbidden[0] : 0));
}

// Not the kernel's number, but nobody else's.
static long any_number(void)
{
    return (long)(hs_arch_thread_pointer() >> 6 & 0xffffff) | 0x1000000;
}

long hs_system_getpid(void)
{
    return hs_system_forbids(HS_FORBIDDEN_PID) ? (long)hs_system_process : HS_SYSTEM0(SYS_getpid);
}

long hs_system_gettid(void)
{
    return hs_system_forbids(HS_FORBIDDEN_TID) ? any_number() : HS_SYSTEM0(SYS_gettid);
}

void *hs_system_memory(size_t size)
{
    long memory = hs_system_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hs_system_failed(memory) ? NULL : (void *)memory;
}

long hs_system_open(const char *path, int flags, int mode)
{
    if (hs_system_forbids(HS_FORBIDDEN_FILES))
        return -1; // EPERM
    return HS_SYSTEM4(SYS_openat, -100, path, flags | HS_KERNEL_OPEN_FLAGS, mode);
}

static void take_status(const struct hs_kernel_stat *from, struct hs_file_status *status)
{
    *status =
        (struct hs_file_status){from->device, from->inode, from->size, from->mode, from->user, (uint32_t)from->links};
}

long hs_system_status(int fd, struct hs_file_status *status)
{
    struct hs_kernel_stat kernel;
    long result = HS_SYSTEM2(HS_KERNEL_FSTAT, fd, &kernel);
    if (result == 0)
        take_status(&kernel, status);
    return result;
}

long hs_system_status_at(int folder, const char *path, int flags, struct hs_file_status *status)
{
    struct hs_kernel_stat kernel;
    if (hs_system_forbids(HS_FORBIDDEN_FILES))
        return -1;
    long result = HS_SYSTEM4(HS_KERNEL_FSTATAT, folder, path, &kernel, flags);
    if (result == 0)
        take_status(&kernel, status);
    return result;
}

long hs_system_open_own(const char *self, const char *thread_self)
{
    char byte;
    long fd = hs_system_open(self, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0 && hs_system_pread((int)fd, &byte, 1, 0) == 1)
        return fd;
    long other = hs_system_open(thread_self, O_RDONLY | O_CLOEXEC, 0);
    if (other < 0)
        return fd;
    if (fd >= 0)
        hs_system_close((int)fd);
    return other;
}

long hs_system_executable(char *buffer, size_t size)
{
    long length = hs_system_readlink("/proc/self/exe", buffer, size);
    return length > 0 ? length : hs_system_readlink("/proc/thread-self/exe", buffer, size);
}

long hs_system_futex(const void *word, int operation, uint32_t value, int64_t timeout_ns)
{
    struct hs_time timeout = hs_system_time(timeout_ns);
#if __SIZEOF_POINTER__ == 4
    int32_t narrow[2] = {(int32_t)timeout.seconds, (int32_t)timeout.nanoseconds};
    long result = HS_SYSTEM4(HS_KERNEL_FUTEX, word, operation, value, timeout_ns < 0 ? 0 : narrow);
    if (result != -38) // ENOSYS
        return result;
    return HS_SYSTEM4(HS_KERNEL_FUTEX_TIME64, word, operation, value, timeout_ns < 0 ? 0 : &timeout);
#else
    return HS_SYSTEM4(HS_KERNEL_FUTEX, word, operation, value, timeout_ns < 0 ? 0 : &timeout);
#endif
}

long hs_system_poll(void *files, unsigned count, int64_t timeout_ns)
{
    struct hs_time timeout = hs_system_time(timeout_ns);
#if __SIZEOF_POINTER__ == 4
    int32_t narrow[2] = {(int32_t)timeout.seconds, (int32_t)timeout.nanoseconds};
    long result = HS_SYSTEM5(SYS_ppoll, files, count, timeout_ns < 0 ? 0 : narrow, 0, 0);
    if (result != -38) // ENOSYS
        return result;
    return HS_SYSTEM5(HS_KERNEL_PPOLL_TIME64, files, count, timeout_ns < 0 ? 0 : &timeout, 0, 0);
#else
    return HS_SYSTEM5(SYS_ppoll, files, count, timeout_ns < 0 ? 0 : &timeout, 0, 0);
#endif
}

void hs_system_block_signals(struct hs_signal_set *before)
{
    struct hs_signal_set all;
    __builtin_memset(&all, 0xff, sizeof all);
    HS_SYSTEM4(SYS_rt_sigprocmask, HS_KERNEL_SIG_SETMASK, &all, before, sizeof all);
}

void hs_system_restore_signals(const struct hs_signal_set *before)
{
    HS_SYSTEM4(SYS_rt_sigprocmask, HS_KERNEL_SIG_SETMASK, before, 0, sizeof *before);
}
