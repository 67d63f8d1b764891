// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A service that gives up its rights: allocates, goes to the root folder FOLDER, gives up what WHAT says, allocates
// again: confined FOLDER user|mounts|nothing.
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 50000, NOBODY = 65534 };

static void allocate(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 1;
    allocate();
    if (chroot(arguments[1]) || chdir("/"))
        return 2;
    if (!strcmp(arguments[2], "user") && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
        return 3;
    if (!strcmp(arguments[2], "mounts") && unshare(CLONE_NEWNS))
        return 77;
    allocate();
    return malloc(123456) ? 5 : 1;
}
