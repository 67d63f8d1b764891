// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finding control sockets: the folders in which processes make them, as runtime/prof/control.h says.
#ifndef HEAPSONDE_HOST_CTL_FIND_H
#define HEAPSONDE_HOST_CTL_FIND_H

#include "host/base/error.h"

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct hs_ctl_process {
    pid_t pid; // as this process sees it
    uid_t user;
    char socket[PATH_MAX];
    char name[64]; // of one that is not in this machine's /proc
};

// The process that `pid` names, also one in a container. A process that has just started gets the time to listen.
// 0, or a negative errno with the reason in `error`.
int hs_ctl__find(struct hs_ctl_process *process, pid_t pid, struct hs_error *error);

// Every process that this user may control, by number; the array is the caller's to free. Sockets that processes have
// left when they were killed are removed.
int hs_ctl__list(struct hs_ctl_process **processes, size_t *count, struct hs_error *error);

// The process's name in /proc, "?" when it cannot be read.
void hs_ctl__name(pid_t pid, char *name, size_t size);

#endif
