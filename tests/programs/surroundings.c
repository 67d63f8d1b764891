// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Prints what a program can see of its surroundings. What a recorder may leave in the environment is left out; all
// else must be as it is without: descriptors, signal mask and actions, limits, memory locks, timers, floating point.
#include "program.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

int main(int count, char **arguments)
{
    free(allocate(10));
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "LD_PRELOAD=", 11) && strncmp(*variable, "HEAPSONDE_", 10) &&
            strncmp(*variable, "COUNTER_", 8))
            say("%s\n", *variable);
    for (int i = 1; i < count; i++)
        say("argument %s\n", arguments[i]);
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC), next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    say("next descriptors %d %d\n", lowest, next);
    close(lowest);
    close(next);
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            say("descriptor %d is open\n", fd);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (sigismember(&mask, number) == 1)
            say("signal %d is blocked\n", number);
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            say("signal %d has an action\n", number);
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    say("alternate stack: %d\n", !(stack.ss_flags & SS_DISABLE));
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        getrlimit(resource, &limit);
        say("limit %d: %llx %llx\n", resource, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
    int status, children = waitpid(-1, &status, WNOHANG);
    say("children: %d, errno %d\n", children, errno);
    say("rounding %d, exceptions %d\n", fegetround(), fetestexcept(FE_ALL_EXCEPT));
    char name[64] = "";
    int file = open("/proc/self/comm", O_RDONLY);
    MUST(file >= 0 && read(file, name, sizeof name - 1) > 0);
    say("name %s", name);
    return 0;
}
