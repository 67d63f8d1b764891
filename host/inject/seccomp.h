// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a target's filters of system calls (seccomp) answer to the calls of the recorder. They are read and interpreted
// in advance, because trying a call could already end the target.
#ifndef HEAPSONDE_HOST_INJECT_SECCOMP_H
#define HEAPSONDE_HOST_INJECT_SECCOMP_H

#include "host/inject/inject.h"
#include "host/inject/target.h"

// What the library of the request calls. Stops each thread that has filters for a moment. With `force`, filters that
// cannot be read are taken for harmless.
int hs_seccomp__check(struct hs_inject_target *target, const struct hs_inject_request *request, struct hs_error *error);

#endif
