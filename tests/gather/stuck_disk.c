// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Preloaded: what waits for the disk waits until the file TEST_DISK_MOVES is there.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int fd)
{
    const char *path = getenv("TEST_DISK_MOVES");
    const struct timespec pause = {.tv_nsec = 10000000};
    while (path && access(path, F_OK))
        nanosleep(&pause, NULL);
    return (int)syscall(SYS_fdatasync, fd);
}
