// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arch/system.h"

long hs_system_open(const char *path, int flags, int mode)
{
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
