// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers for sessions and stacks that are the same on every device and every gatherer.
#ifndef HEAPSONDE_HOST_FLEET_KEYS_H
#define HEAPSONDE_HOST_FLEET_KEYS_H

#include "host/fleet/build_key.h"
#include "host/fleet/follow.h"

// The finaliser of SplitMix64, which mixes all bits.
static inline uint64_t hs_fleet_key__mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// A frame as the tables have it.
struct hs_fleet_place {
    const uint8_t *build; // HS_FLEET_BUILD bytes, zeros in no file
    const char *path;     // of the file; NULL: none
    uint64_t offset;      // of the return address in the address space of the file
};

// A stack is a list of builds and offsets in them, innermost first. 0: it has no frames.
uint64_t hs_fleet_key__places(const struct hs_fleet_place *places, size_t count);

// Addresses in no file differ from run to run: all of them are one place. Reasons for a cut are kept.
struct hs_fleet_place hs_fleet_key__place_of(const struct hs_follow *follow, const struct hs_follow_frame *frame);
extern const uint8_t hs_fleet_no_build[HS_FLEET_BUILD];

// Of the id of a trace.
uint64_t hs_fleet_key__session(const uint64_t trace_id[2]);
// Of a process of which there are heap dumps. `device`: its name in the fleet; texts as dumps say them; without `pid`
// and `since`, of the program alone.
uint64_t hs_fleet_key__dumped(const char *device, const char *executable, const char *pid, const char *since);
uint64_t hs_fleet_key__build(const uint8_t build[HS_FLEET_BUILD]);

// The same of a stack of a trace.
uint64_t hs_fleet_key__stack(const struct hs_follow *follow, const struct hs_follow_frame *frames, size_t count);

#endif
