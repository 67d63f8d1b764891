// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records all programs that a program starts, also those into which no dynamic linker loads the library: by ptrace.
#ifndef HEAPSONDE_HOST_CLI_FOLLOW_H
#define HEAPSONDE_HOST_CLI_FOLLOW_H

#include "host/inject/inject.h"

// Lets a child of this process go on that has stopped itself by SIGSTOP, and follows it and all processes that it
// starts until it ends, which is left for its parent to wait for. Those that are left then go on alone. A program that
// is executed is recorded, unless a dynamic linker has loaded the library into it. `listener` hears of programs that
// are not recorded, or not followed: "is not recorded: ...". If this process is killed, no program ends but those that
// a dynamic linker is loading at that moment.
//
// A process is in one of these states, which its options say. A child has those of its parent.
// - running: it stops at fork, vfork, clone, execve, at signals and at stops of its group. Each of these stops is
//   heard by the one wait for all processes, and lasts until then.
// - executed: at the stop behind execve, where it has one thread. What is passed, or cannot be recorded, runs on.
// - joined: the library is put into it. Only this process is waited for; the stops of all others last until that is
//   done, and none is lost. Its thread carries out system calls between stops of its own; it can stop for a signal, for
//   its group, or for a fork in a function that its dynamic linker calls. Then the child is let go, and not followed:
//   what forks may wait for the child, which would wait for the end of this state. vfork and clone are no stops here
//   for the same reason. SIGKILL ends any stop at any time; then all requests fail, and the end is reported as any
//   other.
// - let go: it has ended, may trace others itself, or its child of this process has ended.
typedef void hs_follow_listener(void *context, pid_t pid, const char *program, const char *why);
struct hs_follow_wish {
    struct hs_inject_request request;
    // Programs are not recorded up to the first one that has this word as its first argument, which neither is; NULL:
    // all are recorded.
    const char *passes_to;
    hs_follow_listener *listener;
    void *context;
};
// Refused: the child is ended.
int hs_follow(const struct hs_follow_wish *wish, pid_t child, struct hs_error *error);

#endif
