// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes two blocks of the sizes that it is given, and then does nothing until its standard input ends.
// Usage: rarely SIZE SIZE
#include "program.h"

int main(int count, char **arguments)
{
    char byte;
    for (int i = 1; i < count; i++)
        allocate((size_t)atol(arguments[i]));
    while (read(0, &byte, 1) > 0)
        continue;
    say("%d blocks\n", count - 1);
    return 0;
}
