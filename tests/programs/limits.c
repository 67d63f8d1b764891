// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs into resource limits. Usage: limits MODE: as, fsize, fsize-zero, fsize-threads, nofile, nofile-zero, data,
// small-stacks, memlock or mlockall
#include "program.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void limit(int resource, rlim_t value)
{
    struct rlimit both = {value, value};
    MUST(setrlimit(resource, &both) == 0);
}

static void allocate_some(void)
{
    size_t rounds = (size_t)fewer(200000);
    for (size_t i = 0; i < rounds; i++)
        free(allocate(1 + i % 700));
}

static size_t address_space_used(void)
{
    unsigned long pages = 0;
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    MUST(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    pages = strtoul(text, NULL, 10);
    return pages * 4096;
}

static void *small(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < 100; i++)
        free(allocate(i + 1));
    return NULL;
}

enum { STANDING = 3 };
static pthread_barrier_t standing;

static void *stands_still(void *unused)
{
    for (size_t i = 0; i < 300; i++)
        allocate(i + 1);
    pthread_barrier_wait(&standing);
    for (;;)
        pause();
    return unused;
}

// A trace has no room for the buffers of so many threads, but for what is in them.
static void stand_still(void)
{
    pthread_t thread;
    limit(RLIMIT_FSIZE, 256 << 10);
    MUST(pthread_barrier_init(&standing, NULL, STANDING + 1) == 0);
    for (int i = 0; i < STANDING; i++)
        MUST(pthread_create(&thread, NULL, stands_still, NULL) == 0);
    pthread_barrier_wait(&standing);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "as";
    if (!strcmp(mode, "as") || !strcmp(mode, "data")) {
        // 64 MiB of room: malloc must hand out most of it, then fail, and work again afterwards.
        allocate_some();
        size_t room = 64u << 20, got = 0;
        static void *blocks[4096];
        int n = 0;
        if (mode[0] == 'a')
            limit(RLIMIT_AS, address_space_used() + room);
        else
            limit(RLIMIT_DATA, room);
        while (n < 4096 && (blocks[n] = keep(malloc(1 << 20)))) {
            got += 1 << 20;
            n++;
        }
        MUST(errno == ENOMEM);
        while (n > 0)
            free(blocks[--n]);
        allocate_some();
        say("got at least 32 MiB: %d, at most 64 MiB: %d\n", got >= room / 2, got <= room);
    } else if (!strcmp(mode, "fsize") || !strcmp(mode, "fsize-zero")) {
        // The default action of SIGXFSZ would end the program, so nobody else may write past the limit.
        limit(RLIMIT_FSIZE, mode[5] ? 0 : 256 << 10);
        allocate_some();
        allocate_some();
        allocate_some();
        int file = open("limits.file", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        MUST(file >= 0);
        unlink("limits.file");
        signal(SIGXFSZ, SIG_IGN);
        char page[4096] = "";
        long written = 0, put;
        while ((put = write(file, page, sizeof page)) > 0)
            written += put;
        say("wrote %ld bytes, then errno %d\n", written, errno);
    } else if (!strcmp(mode, "fsize-threads")) {
        stand_still();
    } else if (!strcmp(mode, "nofile") || !strcmp(mode, "nofile-zero")) {
        limit(RLIMIT_NOFILE, mode[6] ? 0 : 4);
        allocate_some();
        int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
        say("opened %d and %d\n", first, second);
        allocate_some();
    } else if (!strcmp(mode, "small-stacks")) {
        // The recorder runs on the program's stacks: it has to make do with little.
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        MUST(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
        for (int i = 0; i < 200; i++) {
            pthread_t thread;
            MUST(pthread_create(&thread, &attributes, small, NULL) == 0);
            pthread_join(thread, NULL);
        }
        say("200 threads with the smallest stacks\n");
    } else if (!strcmp(mode, "memlock")) {
        limit(RLIMIT_MEMLOCK, 0);
        allocate_some();
        say("no locked memory\n");
    } else if (!strcmp(mode, "mlockall")) {
        int status = mlockall(MCL_CURRENT | MCL_FUTURE);
        say("mlockall: %d\n", status);
        allocate_some();
    } else {
        return 2;
    }
    keep(allocate(99));
    return 6;
}
