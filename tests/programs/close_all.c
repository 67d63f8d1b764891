// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Closes every file descriptor there is, opens files of its own in their place and looks whether anybody else wrote to
// them. Usage: close_all close|close_range|dup2
#include "program.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { FILES = 64, LENGTH = 1000 };

static void allocate_some(size_t rounds)
{
    static void *ring[512];
    for (size_t i = 0; i < rounds; i++) {
        free(ring[i % 512]);
        ring[i % 512] = allocate(1 + i % 300);
    }
    for (size_t i = 0; i < 512; i++) {
        free(ring[i]);
        ring[i] = NULL;
    }
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "close";
    size_t rounds = (size_t)fewer(40000);
    int out = -1;
    allocate_some(rounds);
    if (!strcmp(mode, "close")) {
        for (int fd = 0; fd < 4096; fd++)
            if (fd != 1)
                close(fd);
    } else if (!strcmp(mode, "close_range")) {
        MUST(syscall(SYS_close_range, 2u, ~0u, 0u) == 0);
        MUST(close(0) == 0);
    } else if (!strcmp(mode, "all")) {
        out = 1;
        MUST(syscall(SYS_close_range, 0u, ~0u, 0u) == 0);
    } else if (!strcmp(mode, "dup2")) {
        int zero = open("/dev/null", O_RDWR);
        for (int fd = 3; fd < 2000; fd++)
            if (fd != zero)
                dup2(zero, fd);
    } else {
        return 2;
    }
    allocate_some(rounds);

    // A stranger's write would land in one of these: what is recorded meanwhile fills the recorder's buffers several
    // times.
    int files[FILES];
    for (int i = 0; i < FILES; i++) {
        char name[64], pattern[LENGTH];
        snprintf(name, sizeof name, "close_all.%d.%d", (int)getpid(), i);
        files[i] = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (files[i] < 0)
            return 3;
        unlink(name);
        memset(pattern, 'a' + i % 26, sizeof pattern);
        if (write(files[i], pattern, sizeof pattern) != LENGTH)
            return 4;
        allocate_some(1 + rounds / 5);
    }
    int damaged = 0;
    for (int i = 0; i < FILES; i++) {
        struct stat status;
        char pattern[LENGTH];
        if (fstat(files[i], &status) != 0 || status.st_size != LENGTH ||
            pread(files[i], pattern, sizeof pattern, 0) != LENGTH || lseek(files[i], 0, SEEK_CUR) != LENGTH) {
            damaged++;
            continue;
        }
        for (int k = 0; k < LENGTH; k++)
            if (pattern[k] != 'a' + i % 26) {
                damaged++;
                break;
            }
    }
    if (out >= 0)
        return damaged ? 5 : 0;
    say("damaged files: %d\n", damaged);
    return damaged != 0;
}
