// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records all programs that a program starts, also those into which no dynamic linker loads the library: by ptrace.
#ifndef HEAPSONDE_HOST_CLI_FOLLOW_H
#define HEAPSONDE_HOST_CLI_FOLLOW_H

#include "host/inject/inject.h"

// Lets a child of this process go on that has stopped itself by SIGSTOP, and follows it and all processes that it
// starts until it ends, which is left for its parent to wait for. Those that are left then go on alone. A program that
// is executed is recorded, unless a dynamic linker has loaded the library into it. `tell` hears of programs that are
// not recorded, or not followed: "is not recorded: ...". If this process is killed, no program ends but those that a
// dynamic linker is loading at that moment.
typedef void hs_follow_tell(void *context, pid_t pid, const char *program, const char *why);
struct hs_follow_wish {
    struct hs_inject_request request;
    bool passes_first; // the first program is not recorded, only what it executes and starts
    hs_follow_tell *tell;
    void *context;
};
// Refused: the child is ended.
int hs_follow(const struct hs_follow_wish *wish, pid_t child, struct hs_error *error);

#endif
