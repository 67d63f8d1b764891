// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Preloaded: the clock of the day is an hour ahead of the kernel's, as it is for whoever asked before it was set back.
// Makes the file TEST_SYNCED when a file is brought to the disk.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME)
        time->tv_sec += 3600;
    return result;
}

int fdatasync(int fd)
{
    const char *path = getenv("TEST_SYNCED");
    int made = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (made >= 0)
        close(made);
    return (int)syscall(SYS_fdatasync, fd);
}
