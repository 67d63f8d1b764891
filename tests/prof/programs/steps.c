// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Does what its words say, one after the other:
//
//   something:N, else:N    leaks blocks of 0 to N-1 KiB, of 0 to N-1 times 4 KiB
//   temporary:N            allocates and frees N blocks of 1 MiB
//   grow:N, shrink:N       allocates N more blocks of 1 MiB; frees the N newest of them
//   dump, dump:NAME        mallctl("prof.dump"), under an automatic name or this one
//   active:0, active:1     mallctl("prof.active")
//   prefix:TEXT            mallctl("prof.prefix")
//   threads:N              N threads at once, each leaks a block
//   dumpers:N              four threads that dump N times each, to three names
//   forks:N                forks N children, which dump, while another thread dumps all the time
//   handler:N              dumps N times while a handler, called at any moment, dumps, too
//   limit:N                files may not grow beyond N bytes
//   mappings:N             makes N mappings more, which the dumps list
//   close                  closes every descriptor
//   touch:FILE, wait:FILE  makes FILE; waits until somebody has made it
//   confine                goes on without a network
//   exec                   executes itself with the words that follow; kill, leave: ends by SIGKILL, by _exit
//
// Prints "WORD: error N" for calls of mallctl that fail.
#include "confine.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, BLOCKS = 4096, DUMPERS = 4, NAMES = 3 };

static int (*mallctl)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
static void *volatile kept;
static void *blocks[BLOCKS];
static int block_count;

static void do_something(size_t i)
{
    kept = malloc(i * 1024);
}

static void do_something_else(size_t i)
{
    kept = malloc(i * 4096);
}

static void something(long count)
{
    for (long i = 0; i < count; i++)
        do_something((size_t)i);
}

static void something_else(long count)
{
    for (long i = 0; i < count; i++)
        do_something_else((size_t)i);
}

static void temporary(long count)
{
    for (long i = 0; i < count; i++) {
        kept = malloc(MEBIBYTE);
        free(kept);
    }
}

static void grow(long count)
{
    for (long i = 0; i < count && block_count < BLOCKS; i++)
        blocks[block_count++] = malloc(MEBIBYTE);
}

static void shrink(long count)
{
    for (long i = 0; i < count && block_count; i++)
        free(blocks[--block_count]);
}

static int dump(const char *name)
{
    return mallctl("prof.dump", NULL, NULL, name ? &name : NULL, name ? sizeof name : 0);
}

static int set_active(bool active)
{
    return mallctl("prof.active", NULL, NULL, &active, sizeof active);
}

static int set_prefix(const char *prefix)
{
    return mallctl("prof.prefix", NULL, NULL, &prefix, sizeof prefix);
}

// ---- threads --------------------------------------------------------------------------------------------------------

static pthread_barrier_t everyone;

static void *leak_in_thread(void *unused)
{
    (void)unused;
    do_something(1);
    pthread_barrier_wait(&everyone); // all have allocated
    pthread_barrier_wait(&everyone); // the dump is written
    return NULL;
}

static int run_threads(long count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_barrier_init(&everyone, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, leak_in_thread, NULL) != 0) {
            printf("only %ld threads\n", i);
            return EAGAIN;
        }
    pthread_barrier_wait(&everyone);
    int error = dump("threads.heap");
    pthread_barrier_wait(&everyone);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return error;
}

static long dumps_of_each;

static void *dump_often(void *number)
{
    char name[32];
    for (long i = 0; i < dumps_of_each; i++) {
        snprintf(name, sizeof name, "shared.%ld.heap", ((long)number + i) % NAMES);
        do_something(2);
        int error = dump(name);
        if (error)
            printf("dumpers: error %d\n", error);
    }
    return NULL;
}

static int run_dumpers(long count)
{
    pthread_t threads[DUMPERS];
    dumps_of_each = count;
    for (long i = 0; i < DUMPERS; i++)
        pthread_create(&threads[i], NULL, dump_often, (void *)i);
    for (long i = 0; i < DUMPERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

// ---- forks ----------------------------------------------------------------------------------------------------------

static atomic_bool forked_enough;

static void *dump_all_the_time(void *unused)
{
    (void)unused;
    while (!forked_enough)
        if (dump("parent.heap") != 0)
            printf("forks: the parent's dump failed\n");
    return NULL;
}

static int run_child(void)
{
    do_something(3);
    return dump(NULL) == 0 ? 0 : 1;
}

static int run_forks(long count)
{
    pthread_t thread;
    int failures = 0;
    pthread_create(&thread, NULL, dump_all_the_time, NULL);
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        int status = 1;
        if (child == 0)
            _exit(run_child());
        failures += waitpid(child, &status, 0) != child || status != 0;
    }
    forked_enough = true;
    pthread_join(thread, NULL);
    return failures;
}

// ---- handlers -------------------------------------------------------------------------------------------------------

static volatile sig_atomic_t handled;

static void dump_in_handler(int signal)
{
    (void)signal;
    int before = errno;
    int error = dump("handler.heap");
    if (error && error != EFAULT) // EFAULT: it interrupted the profiler itself
        handled = -1;
    else if (handled >= 0)
        handled++;
    errno = before;
}

static int run_handler(long count)
{
    struct sigaction action = {.sa_handler = dump_in_handler, .sa_flags = SA_RESTART};
    struct itimerval once = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    int error = 0;
    for (long i = 0; (i < count || handled < 3) && handled >= 0 && !error; i++) {
        once.it_value.tv_usec = 100 + i * 37 % 3000;
        setitimer(ITIMER_REAL, &once, NULL);
        do_something(1);
        error = dump("interrupted.heap");
    }
    once.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &once, NULL);
    return handled < 0 ? -1 : error;
}

// ---- words ----------------------------------------------------------------------------------------------------------

static void make_mappings(long count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (long i = 0; i < count; i++)
        mmap(NULL, page, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void close_all(long unused)
{
    (void)unused;
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
}

static void end_by_kill(long unused)
{
    (void)unused;
    kill(getpid(), SIGKILL);
}

static void leave(long unused)
{
    (void)unused;
    _exit(0);
}

static int touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    return fd < 0 ? errno : close(fd);
}

static int wait_for(const char *path)
{
    while (access(path, F_OK))
        usleep(10000);
    return 0;
}

static int limit_files(long bytes)
{
    struct rlimit limit = {(rlim_t)bytes, RLIM_INFINITY};
    return setrlimit(RLIMIT_FSIZE, &limit) ? errno : 0;
}

static bool is(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && (word[length] == ':' || !word[length]);
}

static int step(const char *word)
{
    const char *colon = strchr(word, ':'), *text = colon ? colon + 1 : NULL;
    long number = text ? atol(text) : 0;
    static void (*const plain[])(long) = {something,     something_else, temporary,   grow, shrink,
                                          make_mappings, close_all,      end_by_kill, leave};
    static const char *const plain_names[] = {"something", "else",  "temporary", "grow", "shrink",
                                              "mappings",  "close", "kill",      "leave"};
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (is(word, plain_names[i])) {
            plain[i](number);
            return 0;
        }
    static int (*const failing[])(long) = {run_threads, run_dumpers, run_forks, run_handler, limit_files};
    static const char *const failing_names[] = {"threads", "dumpers", "forks", "handler", "limit"};
    for (unsigned i = 0; i < sizeof failing / sizeof failing[0]; i++)
        if (is(word, failing_names[i]))
            return failing[i](number);
    if (is(word, "dump"))
        return dump(text);
    if (is(word, "touch"))
        return touch(text);
    if (is(word, "wait"))
        return wait_for(text);
    if (is(word, "confine"))
        return confine();
    if (is(word, "active"))
        return set_active(number != 0);
    if (is(word, "prefix"))
        return set_prefix(text);
    return ENOSYS;
}

int main(int count, char **words)
{
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    // Without a buffer of its own, standard output would allocate one.
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 1; i < count; i++) {
        if (!mallctl && strchr("dap", words[i][0])) {
            printf("there is no mallctl\n");
            return 2;
        }
        if (!strcmp(words[i], "exec")) {
            words[i] = words[0];
            execv(words[0], words + i);
            return 3;
        }
        int error = step(words[i]);
        if (error)
            printf("%s: error %d\n", words[i], error);
    }
    return 0;
}
