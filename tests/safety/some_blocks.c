// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates a thousand blocks and frees them.
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100 + (size_t)i % 50));
    puts("fine");
    return 0;
}
