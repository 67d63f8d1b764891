// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Preloaded: the clock of the day is an hour ahead of the kernel's, as it is for whoever asked before it was set back.
// Makes the file TEST_SYNCED when a file is brought to the disk. When there is a file TEST_STOOD_STILL, ten seconds go
// by for all threads between the reading of the next bytes that come, of which one asks the time first, and what is
// done then. From then on, time is slow, so that whoever has to answer within seconds also does on a busy machine.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Thread_local int has_read;
static _Atomic long long stood_still; // when, in ns
enum { SECOND = 1000000000, STANDING = 10, SLOWER = 4 };

static void slow_down(struct timespec *time, long long since)
{
    const long long passed = time->tv_sec * (long long)SECOND + time->tv_nsec - since;
    const long long now = since + STANDING * (long long)SECOND + passed / SLOWER;
    *time = (struct timespec){now / SECOND, now % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME)
        time->tv_sec += 3600;
    const long long since = atomic_load(&stood_still);
    if (clock == CLOCK_MONOTONIC && since)
        slow_down(time, since);
    else if (clock == CLOCK_MONOTONIC && has_read)
        atomic_store(&stood_still, time->tv_sec * (long long)SECOND + time->tv_nsec);
    return result;
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    const char *path = getenv("TEST_STOOD_STILL");
    ssize_t got = syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL);
    has_read |= got > 0 && path && !access(path, F_OK);
    return got;
}

int fdatasync(int fd)
{
    const char *path = getenv("TEST_SYNCED");
    int made = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (made >= 0)
        close(made);
    return (int)syscall(SYS_fdatasync, fd);
}
