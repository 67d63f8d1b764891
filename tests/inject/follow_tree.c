// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A family of processes that notices what a tracer may do to it. What it prints must be the same without one.
//
//   tree       starts copies of itself in every way and prints what becomes of them
//   leaf N     allocates N blocks, prints nothing and exits with N
//   trapless   prints whether it blocks and ignores SIGTRAP
//   filtered N executes a leaf that a filter of system calls (seccomp) ends if it is recorded
//   left PATH  starts a child that goes on, and is told its end by a file; exits at once
//   users N    prints its user numbers, and is a leaf
//   debugger   traces a child of its own (only in the program `follow_debugger`); exits with 0 if that works
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef IS_DEBUGGER
#include <sys/ptrace.h>
#endif

extern char **environ;

enum { QUEUED = 20 };

static char *own; // this program

static void *volatile last;

__attribute__((noinline)) static void leaf_round(void)
{
    last = malloc(100);
    if (!last)
        abort();
    free(last);
}

static int leaf(int count)
{
    for (int i = 0; i < count; i++)
        leaf_round();
    return count;
}

static void say(const char *what, int status)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s: %s %d\n", what,
                          WIFEXITED(status)      ? "exited"
                          : WIFSIGNALED(status)  ? "signal"
                          : WIFSTOPPED(status)   ? "stopped"
                          : WIFCONTINUED(status) ? "continued"
                                                 : "?",
                          WIFEXITED(status)     ? WEXITSTATUS(status)
                          : WIFSIGNALED(status) ? WTERMSIG(status)
                          : WIFSTOPPED(status)  ? WSTOPSIG(status)
                                                : 0);
    if (write(1, line, (size_t)length) != length)
        abort();
}

static int wait_for(pid_t pid, int options)
{
    int status = -1;
    if (waitpid(pid, &status, options) != pid)
        abort();
    return status;
}

static void execute(const char *count, char **variables)
{
    char *words[] = {own, "leaf", (char *)count, NULL};
    execve(own, words, variables);
    _exit(99);
}

static void forked(const char *count, char **variables)
{
    pid_t pid = fork();
    if (pid == 0)
        execute(count, variables);
    say("fork, exec", wait_for(pid, 0));
}

static void vforked(void)
{
    char *none[] = {NULL};
    pid_t pid = vfork();
    if (pid == 0)
        execute("13", none);
    say("vfork, exec", wait_for(pid, 0));
}

static void run_in_thread(void *(*run)(void *unused))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL))
        abort();
    pthread_join(thread, NULL);
}

static void *execute_in_thread(void *unused)
{
    char *none[] = {NULL};
    execute("17", none);
    return unused;
}

// The other threads end, and this one gets the number of the process.
static void executed_by_thread(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        run_in_thread(execute_in_thread);
        _exit(98);
    }
    say("exec of a thread", wait_for(pid, 0));
}

static void *fork_in_thread(void *unused)
{
    char *none[] = {NULL};
    forked("19", none);
    return unused;
}

static void forked_by_thread(void)
{
    run_in_thread(fork_in_thread);
}

static int trapless(void)
{
    struct sigaction action;
    sigset_t mask;
    sigaction(SIGTRAP, NULL, &action);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("SIGTRAP: %d %d\n", action.sa_handler == SIG_IGN, sigismember(&mask, SIGTRAP));
    return 0;
}

static void without_trap(bool ignores, bool blocks)
{
    char *none[] = {NULL}, *words[] = {own, "trapless", NULL};
    sigset_t mask;
    pid_t pid = fork();
    if (pid == 0) {
        sigemptyset(&mask);
        sigaddset(&mask, SIGTRAP);
        signal(SIGTRAP, ignores ? SIG_IGN : SIG_DFL);
        sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &mask, NULL);
        execve(own, words, none);
        _exit(92);
    }
    say("trapless", wait_for(pid, 0));
}

static void killed(int number)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(number, SIG_DFL);
        kill(getpid(), number);
        for (;;)
            pause();
    }
    say("a signal", wait_for(pid, 0));
}

// It ends only when it was seen to go on.
static void stopped(int number)
{
    int pipe_ends[2];
    char byte;
    if (pipe(pipe_ends))
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        kill(getpid(), number);
        _exit(read(pipe_ends[0], &byte, 1) == 1 ? 5 : 93);
    }
    say("a stop", wait_for(pid, WUNTRACED));
    kill(pid, SIGCONT);
    say("go on", wait_for(pid, WCONTINUED));
    if (write(pipe_ends[1], "x", 1) != 1)
        abort();
    say("afterwards", wait_for(pid, 0));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void stopped_group(void)
{
    int pipe_ends[2];
    char byte;
    if (pipe(pipe_ends))
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        pid_t other = fork();
        if (write(pipe_ends[1], "x", 1) != 1)
            _exit(97);
        if (other)
            waitpid(other, NULL, 0);
        for (;;)
            pause();
    }
    for (int i = 0; i < 2; i++)
        if (read(pipe_ends[0], &byte, 1) != 1)
            abort();
    kill(-pid, SIGSTOP);
    say("a group", wait_for(pid, WUNTRACED));
    kill(-pid, SIGCONT);
    say("a group goes on", wait_for(pid, WCONTINUED));
    kill(-pid, SIGTERM);
    say("a group ends", wait_for(pid, 0));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static volatile sig_atomic_t sum, arrived;

static void add(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    sum += info->si_value.sival_int;
    arrived++;
}

// Each of them arrives with its value.
static void queued(void)
{
    struct sigaction action = {.sa_sigaction = add, .sa_flags = SA_SIGINFO};
    sigset_t mask, before;
    sigaction(SIGRTMIN + 3, &action, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN + 3);
    sigprocmask(SIG_BLOCK, &mask, &before);
    for (int i = 1; i <= QUEUED; i++)
        sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = i});
    while (arrived < QUEUED)
        sigsuspend(&before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    char line[64];
    int length = snprintf(line, sizeof line, "signals: %d %d\n", (int)arrived, (int)sum);
    if (write(1, line, (size_t)length) != length)
        abort();
}

static int tree(void)
{
    char *none[] = {NULL};
    forked("7", environ);
    forked("11", none);
    vforked();
    executed_by_thread();
    forked_by_thread();
    without_trap(true, false);
    without_trap(false, true);
    without_trap(true, true);
    killed(SIGKILL);
    killed(SIGTERM);
    killed(SIGTRAP);
    stopped(SIGSTOP);
    stopped(SIGTSTP);
    stopped_group();
    queued();
    return 3;
}

static int filtered(const char *count)
{
    char *none[] = {NULL};
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 95;
    execute(count, none);
    return 94;
}

// Allocates until the file is there, and removes it.
static int left(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        close(1);
        close(2);
        while (access(path, F_OK)) {
            leaf_round();
            usleep(1000);
        }
        _exit(unlink(path));
    }
    printf("%d\n", (int)pid);
    return 0;
}

#ifdef IS_DEBUGGER
static int debug(void)
{
    char *none[] = {NULL};
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(96);
        raise(SIGSTOP);
        execute("23", none);
    }
    int status = wait_for(pid, 0);
    bool is_traced = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
    for (; WIFSTOPPED(status); status = wait_for(pid, 0))
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    return is_traced && WIFEXITED(status) && WEXITSTATUS(status) == 23 ? 0 : 1;
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    own = argv[0];
    if (!strcmp(what, "leaf") && argc > 2)
        return leaf(atoi(argv[2]));
    if (!strcmp(what, "trapless"))
        return trapless();
    if (!strcmp(what, "filtered") && argc > 2)
        return filtered(argv[2]);
    if (!strcmp(what, "left") && argc > 2)
        return left(argv[2]);
    if (!strcmp(what, "users") && argc > 2) {
        printf("%d %d\n", (int)getuid(), (int)geteuid());
        return leaf(atoi(argv[2]));
    }
#ifdef IS_DEBUGGER
    if (!strcmp(what, "debugger"))
        return debug();
#endif
    return tree();
}
