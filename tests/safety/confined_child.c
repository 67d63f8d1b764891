// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Forks two children that go where they cannot create a file, as servers do, and allocate there; a third one stays.
// Argument: an empty folder of root.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100 + (size_t)i % 50));
}

int main(int count, char **arguments)
{
    allocate();
    for (int i = 0; i < 3 && count == 2; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            if (i < 2 && (chroot(arguments[1]) || chdir("/") || setgid(65534) || setuid(65534)))
                _exit(1);
            allocate();
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    puts("fine");
    return 0;
}
