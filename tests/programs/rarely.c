// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes two blocks of the sizes that it is given, and again for each byte of its standard input. Before them it makes
// and frees one at a time, COUNT of them.
// Usage: rarely SIZE SIZE [COUNT]
#include "program.h"

static void make(char **arguments)
{
    for (long i = arguments[3] ? atol(arguments[3]) : 0; i > 0; i--)
        free(allocate(100));
    allocate((size_t)atol(arguments[1]));
    allocate((size_t)atol(arguments[2]));
}

int main(int count, char **arguments)
{
    char byte;
    MUST(count >= 3);
    make(arguments);
    say("ready\n");
    while (read(0, &byte, 1) > 0)
        make(arguments);
    return 0;
}
