// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates some blocks and has the sampler write a dump: dumps FILE. Exit status 0: it was written.
#include <stddef.h>
#include <stdlib.h>

extern int mallctl(const char *name, void *old, size_t *old_size, void *value, size_t size) __attribute__((weak));

void *volatile kept[100];

int main(int count, char **arguments)
{
    const char *path = arguments[count - 1];
    for (int i = 0; i < 100; i++)
        kept[i] = malloc(1000);
    return !mallctl || mallctl("prof.dump", NULL, NULL, &path, sizeof path) != 0;
}
