// SPDX-License-Identifier: MIT OR Apache-2.0
//
// many_stacks LEVELS FIRST SECOND: allocates and frees a block in each of 4^LEVELS stacks, then makes the file FIRST
// and waits for SECOND; then leaves a block behind in each 64th of these stacks.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct walk {
    long leaf;
    int leaks;
};

static void *volatile kept;

static void leaf(struct walk *walk)
{
    if (!walk->leaks || walk->leaf % 64 == 0)
        kept = malloc(16);
    if (!walk->leaks)
        free(kept);
    walk->leaf++;
}

// Each level has four call sites.
static __attribute__((noinline)) void descend(struct walk *walk, int levels)
{
    if (!levels) {
        leaf(walk);
        return;
    }
    descend(walk, levels - 1);
    __asm__ volatile("");
    descend(walk, levels - 1);
    __asm__ volatile("");
    descend(walk, levels - 1);
    __asm__ volatile("");
    descend(walk, levels - 1);
    __asm__ volatile("");
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    for (int round = 0; round < 2; round++) { // from one call site
        descend(&(struct walk){.leaks = round}, atoi(words[1]));
        close(open(words[2], O_WRONLY | O_CREAT, 0600));
        while (access(words[3], F_OK))
            usleep(1000);
    }
    return 0;
}
