// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Addresses of a running process as functions, from what its maps say and the files in its root.
#ifndef HEAPSONDE_HOST_CTL_ADDRESSES_H
#define HEAPSONDE_HOST_CTL_ADDRESSES_H

#include "host/symbols/symbols.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct hs_addresses;

// `maps`: the text of /proc/PID/maps, taken over; from malloc. NULL when memory is exhausted.
struct hs_addresses *hs_addresses__create(pid_t pid, char *maps);
void hs_addresses__destroy(struct hs_addresses *addresses);

// The text that it was made from.
const char *hs_addresses__maps(const struct hs_addresses *addresses);

// The functions of the code at `address`, which is inside a call, innermost first; valid as long as the addresses.
// NULL: in no file.
const struct hs_frames *hs_addresses__frames(struct hs_addresses *addresses, uint64_t address);

// Writes the functions of the code at `address`: those that are inlined there first, "--" between them. Nothing when
// nothing is known.
void hs_addresses__print(struct hs_addresses *addresses, FILE *out, uint64_t address);

#endif
