// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether somebody takes connections at an address.
#ifndef HEAPSONDE_HOST_CLI_REACH_H
#define HEAPSONDE_HOST_CLI_REACH_H

// Returns 0, or why not (errno), after two seconds at most.
int hs_reach(const char *address);

#endif
