// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
#define FORWARDED_COUNT (sizeof(forwarded) / sizeof(forwarded[0]))

// What was set before: of the signals that are passed on, and of SIGCHLD.
struct dispositions {
    struct sigaction forwarded[FORWARDED_COUNT], child;
};

static volatile sig_atomic_t child_pid;

static void forward(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int kept = errno;
    // The kernel sends the terminal's signals to the whole foreground group: the program has got this one already.
    if (child_pid > 0 && info->si_code != SI_KERNEL)
        kill(child_pid, signal);
    errno = kept;
}

// If SIGCHLD is ignored, as some services have it, the kernel throws the status of children away.
static void catch_signals(struct dispositions *before)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = forward;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < FORWARDED_COUNT; i++)
        sigaction(forwarded[i], &action, &before->forwarded[i]);
    sigaction(SIGCHLD, &usual, &before->child);
}

static void restore_signals(const struct dispositions *before)
{
    for (size_t i = 0; i < FORWARDED_COUNT; i++)
        sigaction(forwarded[i], &before->forwarded[i], NULL);
    sigaction(SIGCHLD, &before->child, NULL);
}

// As in execvp: a file of an unknown format is run by the shell.
static void execute(const char *path, char **arguments, char **environment)
{
    execve(path, arguments, environment);
    if (errno != ENOEXEC)
        return;
    size_t count = 0;
    while (arguments[count])
        count++;
    char **shell = calloc(count + 2, sizeof(*shell));
    if (!shell)
        return;
    shell[0] = (char *)_PATH_BSHELL;
    shell[1] = (char *)path;
    if (count)
        memcpy(shell + 2, arguments + 1, (count - 1) * sizeof(*shell));
    execve(_PATH_BSHELL, shell, environment);
}

// Nobody else would let it go on.
static void stop_here(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    raise(SIGSTOP);
    prctl(PR_SET_PDEATHSIG, 0);
}

static void wait_for(struct hs_child *child)
{
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        ;
}

int hs_child__run(struct hs_child *child, const char *path, char **arguments, char **environment)
{
    return hs_child__run_held(child, path, arguments, environment, NULL, NULL);
}

int hs_child__run_held(struct hs_child *child, const char *path, char **arguments, char **environment,
                       hs_child_begin *begin, void *context)
{
    int report[2];
    struct dispositions before;
    sigset_t all;
    sigset_t mask;
    *child = (struct hs_child){0};
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    // No signal may come between fork and the moment at which it can be passed on.
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    catch_signals(&before);
    const pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0) {
        restore_signals(&before);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        if (begin)
            stop_here(parent);
        execute(path, arguments, environment);
        int problem = errno;
        ssize_t written = write(report[1], &problem, sizeof(problem));
        _exit(written < 0 ? 126 : 127);
    }
    int result = child->pid < 0 ? -errno : 0;
    child_pid = child->pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    if (!result && begin)
        begin(context, child->pid);
    if (!result) {
        if (read(report[0], &child->exec_problem, sizeof(child->exec_problem)) != sizeof(child->exec_problem))
            child->exec_problem = 0;
        wait_for(child);
    }
    child_pid = 0;
    restore_signals(&before);
    close(report[0]);
    return result;
}
