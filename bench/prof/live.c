// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Holds BLOCKS blocks of 64 bytes and prints the process's resident bytes. Usage: live BLOCKS
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile newest;

int main(int count, char **words)
{
    long blocks = count > 1 ? atol(words[1]) : 1000000, resident = 0;
    for (long i = 0; i < blocks; i++) {
        void **block = malloc(64);
        if (!block)
            return 1;
        *block = newest;
        newest = block;
    }
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &resident) != 1)
        return 1;
    fclose(file);
    printf("%ld\n", resident * sysconf(_SC_PAGESIZE));
    return 0;
}
