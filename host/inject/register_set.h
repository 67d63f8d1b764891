// SPDX-License-Identifier: MIT OR Apache-2.0
//
// General registers of a stopped thread as a set of registers, NT_PRSTATUS: for architectures whose set has all of
// them.
#ifndef HEAPSONDE_HOST_INJECT_REGISTER_SET_H
#define HEAPSONDE_HOST_INJECT_REGISTER_SET_H

#include <sys/types.h>

// 0 or a negative errno. There is room for HS_INJECT_REGISTERS bytes.
int hs_register_set__get(pid_t tid, void *registers);
int hs_register_set__set(pid_t tid, const void *registers);

#endif
