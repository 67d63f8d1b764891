// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// A grandchild, so that no process has to wait for the browser, which continues when this one ends.
static void start(const char *program, const char *address, int problem)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none;
    pid_t pid;
    char *const arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)address, NULL};
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, program, &files, &attributes, arguments, environ);
    if (failed && write(problem, &failed, sizeof(failed)) < 0)
        _exit(1);
    _exit(0);
}

static int start_detached(const char *program, const char *address)
{
    int ends[2], problem = 0;
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    pid_t pid = fork();
    if (!pid)
        start(program, address, ends[1]);
    close(ends[1]);
    if (pid < 0)
        problem = EAGAIN;
    else if (read(ends[0], &problem, sizeof(problem)) != sizeof(problem))
        problem = 0;
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return problem;
}

void hs_browser__open(const struct hs_command *command, const char *address)
{
    // BROWSER may name several, the first of which is tried.
    const char *wanted = getenv("BROWSER");
    char program[256] = "xdg-open";
    if (wanted && *wanted)
        snprintf(program, sizeof(program), "%.*s", (int)strcspn(wanted, ":"), wanted);
    if (!geteuid()) {
        hs_complain(command, "no browser is started as root; open %s", address);
        return;
    }
    int problem = start_detached(program, address);
    if (problem)
        hs_complain(command, "%s cannot be started: %s; open %s", program, strerror(problem), address);
}
