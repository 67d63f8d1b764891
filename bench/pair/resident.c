// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs a command and writes its largest resident set in KiB into a file: the kernel gives a process that begins as a
// copy of a large one at least that one's. Linked statically: what LD_PRELOAD names is loaded by the command alone.
// Usage: bench_resident FILE COMMAND [ARGUMENTS]
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execvp(arguments[2], arguments + 2);
        _exit(127);
    }
    int status = 1;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 1;
    FILE *file = fopen(arguments[1], "w");
    if (!file || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 || fclose(file))
        return 1;
    return status == 0 ? 0 : 1;
}
