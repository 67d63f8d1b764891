// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Is killed before it has allocated, or allocates only after it has closed all descriptors: without_blocks [later].
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    (void)arguments;
    if (count == 1)
        raise(SIGKILL);
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < 100; i++)
        if (!malloc(1000))
            return 1;
    raise(SIGKILL);
}
