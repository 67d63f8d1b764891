// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_BASE_EXIT_STATUS_H
#define HEAPSONDE_BASE_EXIT_STATUS_H

#include <sys/wait.h>

// What a shell says of a process of which waitpid() said this.
static inline int hs_exit_status__of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
