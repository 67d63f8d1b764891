// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates once: enough for an allocator to say what is wrong with its configuration. With a number as argument: so
// many megabytes, one after the other.
#include <stdlib.h>

int main(int count, char **arguments)
{
    int megabytes = count > 1 ? atoi(arguments[1]) : 0;
    void *volatile block = malloc(100);
    free(block);
    while (megabytes-- > 0) {
        block = malloc(1 << 20);
        free(block);
    }
    return 0;
}
