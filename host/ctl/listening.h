// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Recorded processes of this machine that wait for hosts (HEAPSONDE_ENABLE_SERVER): which have libheapsonde-trace.so,
// and at which port they listen.
#ifndef HEAPSONDE_HOST_CTL_LISTENING_H
#define HEAPSONDE_HOST_CTL_LISTENING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

bool hs_listening__is_recorded(pid_t pid);

// The port at which the process, or the helper that sends for it and has its memory, listens; 0: none, or it may not be
// looked at.
uint16_t hs_listening__port(pid_t pid);

#endif
