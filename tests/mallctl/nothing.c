// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates once: enough for an allocator to say what is wrong with its configuration.
#include <stdlib.h>

int main(void)
{
    void *volatile block = malloc(100);
    free(block);
    return 0;
}
