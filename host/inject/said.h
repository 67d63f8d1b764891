// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What commands that attach say on standard error.
#ifndef HEAPSONDE_HOST_INJECT_SAID_H
#define HEAPSONDE_HOST_INJECT_SAID_H

#include "host/inject/inject.h"

// "process 4711 is recorded: 32 functions of libc.so.6; 3 threads were stopped for 0.30 ms"
void hs_said__attached(const struct hs_inject_request *request, const struct hs_inject_result *result);
// The names of several allocators, and what could not be patched; nothing if there is nothing to say.
void hs_said__allocators(const struct hs_inject_request *request, const struct hs_inject_result *result);
void hs_said__detached(pid_t pid, const struct hs_inject_result *result);
void hs_said__ended(pid_t pid);

#endif
