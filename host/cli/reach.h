// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Checks whether an address accepts connections.
#ifndef HEAPSONDE_HOST_CLI_REACH_H
#define HEAPSONDE_HOST_CLI_REACH_H

// Returns 0 or a positive errno, after at most two seconds.
int hs_reach(const char *address);

#endif
