// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program that runs with more rights than who called it: set-uid and set-gid programs, capabilities of a file.
#ifndef HEAPSONDE_RUNTIME_RIGHTS_H
#define HEAPSONDE_RUNTIME_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

// Whether this is one: then nothing is believed that its caller may have chosen, such as the environment.
bool hs_rights__exceed_callers(void);

// 1: what is believed comes from a loader that the kernel has let into the process (format/attach.h), not from its
// caller.
extern uint8_t hs_rights__are_given;

#endif
