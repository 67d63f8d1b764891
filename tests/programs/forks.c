// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes processes: children that only fork, vfork and exec, posix_spawn, an image that replaces itself.
// Usage: forks MODE N
#include "program.h"
#include "shims/trace/include/heapsonde.h"

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

extern char **environ;

static int wait_for(pid_t pid)
{
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    MUST(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void child_work(void *inherited)
{
    for (size_t i = 0; i < 100; i++)
        free(allocate(i + 1));
    free(inherited);
    keep(allocate(4000));
}

// The first that this process has to record is what a process does that shares its memory and ends at once.
static int allocate_after_vfork(void)
{
    pid_t pid = vfork();
    MUST(pid >= 0);
    if (pid == 0) {
        heapsonde_pool_alloc(1, &pid, sizeof pid); // the counter counts no pools
        _exit(1);
    }
    int status = wait_for(pid);
    for (int i = 0; i < 3000; i++)
        free(allocate(30));
    return status;
}

static atomic_bool stop;

static void *busy(void *unused)
{
    (void)unused;
    while (!stop)
        free(allocate(100));
    return NULL;
}

static int children(int number, char **arguments)
{
    int sum = 0;
    void *inherited = allocate(555);
    (void)arguments;
    for (int i = 0; i < number; i++) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0) {
            child_work(inherited);
            if (i % 2)
                exit(i % 50);
            _exit(i % 50);
        }
        sum += wait_for(pid);
        free(allocate(20));
    }
    free(inherited);
    return sum;
}

static int generations(int number, char **arguments)
{
    (void)arguments;
    for (int i = 0; i < number; i++) {
        pid_t pid = fork();
        MUST(pid >= 0);
        free(allocate(20));
        if (pid) {
            int status = wait_for(pid);
            if (i)
                _exit(status + 1);
            return status;
        }
        if (i == number - 1)
            _exit(1);
    }
    return 0;
}

static int with_threads(int number, char **arguments)
{
    int sum = 0;
    pthread_t threads[4];
    (void)arguments;
    for (int t = 0; t < 4; t++)
        MUST(pthread_create(&threads[t], NULL, busy, NULL) == 0);
    for (int i = 0; i < number; i++) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0) {
            child_work(NULL);
            _exit(i % 50);
        }
        sum += wait_for(pid);
    }
    stop = 1;
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    return sum;
}

static int with_vfork(int number, char **arguments)
{
    int sum = 0;
    (void)arguments;
    for (int i = 0; i < number; i++) {
        free(allocate(20));
        pid_t pid = vfork();
        MUST(pid >= 0);
        if (pid == 0) {
            if (i % 2)
                _exit(i % 50);
            execl("/bin/true", "true", (char *)NULL);
            _exit(99);
        }
        sum += wait_for(pid);
    }
    return sum;
}

static int vfork_first(int number, char **arguments)
{
    int sum = 0;
    (void)arguments;
    for (int i = 0; i < number; i++) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0)
            _exit(allocate_after_vfork());
        sum += wait_for(pid);
    }
    return sum;
}

static int spawn(int number, char **arguments)
{
    int sum = 0;
    for (int i = 0; i < number; i++) {
        char status[16];
        snprintf(status, sizeof status, "%d", i % 50);
        char *command[] = {arguments[0], "leaf", status, NULL};
        pid_t pid;
        free(allocate(20));
        MUST(posix_spawn(&pid, arguments[0], NULL, NULL, command, environ) == 0);
        sum += wait_for(pid);
    }
    return sum;
}

static int exec_self(int number, char **arguments)
{
    free(allocate(30));
    keep(allocate(31));
    if (number > 0) {
        char left[16];
        snprintf(left, sizeof left, "%d", number - 1);
        execl("/proc/self/exe", arguments[0], arguments[1], left, (char *)NULL);
        _exit(99);
    }
    return 0;
}

static int exec_fails(int number, char **arguments)
{
    int sum = 0;
    (void)arguments;
    for (int i = 0; i < number; i++) {
        free(allocate(30));
        sum += execl("/nonexistent/program", "program", (char *)NULL);
        MUST(errno == ENOENT);
    }
    free(allocate(31));
    return sum;
}

static int with_system(int number, char **arguments)
{
    int sum = 0, got = 0;
    (void)arguments;
    for (int i = 0; i < number; i++)
        sum += WEXITSTATUS(system("exit 3"));
    FILE *pipe = popen("echo 5", "r");
    MUST(pipe);
    MUST(fscanf(pipe, "%d", &got) == 1);
    pclose(pipe);
    return sum + got;
}

static const struct {
    const char *name;
    int (*run)(int number, char **arguments); // returns the sum of the exit statuses
} modes[] = {
    {"children", children},   {"generations", generations}, {"with-threads", with_threads},
    {"vfork", with_vfork},    {"vfork-first", vfork_first}, {"spawn", spawn},
    {"exec-self", exec_self}, {"exec-fails", exec_fails},   {"system", with_system},
};

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "children";
    const int number = count > 2 ? atoi(arguments[2]) : 10;
    if (!strcmp(mode, "leaf")) {
        free(allocate(777));
        return number;
    }
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (!strcmp(mode, modes[i].name)) {
            say("%s: sum of the exit statuses %d\n", mode, modes[i].run(number, arguments));
            return 0;
        }
    }
    return 2;
}
