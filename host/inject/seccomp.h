// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a target's filters of system calls (seccomp) answer to the calls of the recorder. They are read and interpreted
// in advance, because trying a call could already end the target.
#ifndef HEAPSONDE_HOST_INJECT_SECCOMP_H
#define HEAPSONDE_HOST_INJECT_SECCOMP_H

#include "host/inject/target.h"

// What the recording library calls, or the sampling library. Stops a thread for a moment if there are filters. With
// `force`, filters that cannot be read are taken for harmless.
int hs_seccomp__check(struct hs_inject_target *target, bool samples, bool force, struct hs_error *error);

#endif
