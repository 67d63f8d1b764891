// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the place of the control socket and creates it.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_PLACE_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum { HS_CONTROL_PATH = 108 }; // size of the path in struct sockaddr_un

#pragma GCC visibility push(hidden)
// Reads the environment. Call once, before hs_control_place__bind().
void hs_control_place__remember(void);

// Whether the program runs under Valgrind, which preloads a library of its own.
bool hs_control_place__is_in_valgrind(void);

// Creates a listening socket for the user of the calling thread; `path` (HS_CONTROL_PATH bytes) becomes its name.
// Returns the descriptor, or -errno; then there is no file.
long hs_control_place__bind(char *path);
void hs_control_place__remove(const char *path);

// Connects to `path` without waiting. Returns the descriptor or -errno.
long hs_control_place__connect(const char *path);
#pragma GCC visibility pop

#endif
