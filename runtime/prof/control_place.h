// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the control socket is, and making it there.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_PLACE_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum { HS_CONTROL_PATH = 108 }; // of struct sockaddr_un

#pragma GCC visibility push(hidden)
// Reads the environment. Once, before hs_control_place__bind().
void hs_control_place__remember(void);

// Whether the program runs under valgrind, which preloads something of its own.
bool hs_control_place__is_in_valgrind(void);

// Makes the socket that listens, for the calling thread's user; `path` (HS_CONTROL_PATH bytes) gets its name. Returns
// its descriptor, or -errno: then there is no file.
long hs_control_place__bind(char *path);
void hs_control_place__remove(const char *path);

// Connects to `path`, without waiting; the descriptor or -errno.
long hs_control_place__connect(const char *path);
#pragma GCC visibility pop

#endif
