// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Keeps a block for each byte of its input, and calls nothing that frees.
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void keep(void)
{
    kept = malloc(64);
}

int main(void)
{
    static const char ready[] = "ready\n";
    char byte;
    if (write(STDOUT_FILENO, ready, sizeof(ready) - 1) < 0)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) == 1)
        keep();
    return 0;
}
