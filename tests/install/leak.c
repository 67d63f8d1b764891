// SPDX-License-Identifier: MIT OR Apache-2.0
#include <stdlib.h>
#include <string.h>

char *kept;

__attribute__((noinline)) void planted_leak(void)
{
    kept = malloc(12345);
    memset(kept, 1, 12345);
    kept = NULL;
}

int main(void)
{
    planted_leak();
    return 0;
}
