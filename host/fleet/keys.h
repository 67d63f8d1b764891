// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers for sessions and stacks that are the same on every device and every gatherer.
#ifndef HEAPSONDE_HOST_FLEET_KEYS_H
#define HEAPSONDE_HOST_FLEET_KEYS_H

#include "host/fleet/follow.h"

// The finaliser of SplitMix64, which mixes all bits.
static inline uint64_t hs_fleet_key__mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t hs_fleet_key__session(const struct hs_file_header *header);
uint64_t hs_fleet_key__build(const uint8_t build[HS_FLEET_BUILD]);

// A stack is a list of builds and offsets in them, innermost first. 0: it has no frames.
uint64_t hs_fleet_key__stack(const struct hs_follow *follow, const struct hs_follow_frame *frames, size_t count);

// The build id of a frame, zeros in no module.
const uint8_t *hs_fleet_key__build_of(const struct hs_follow *follow, const struct hs_follow_frame *frame);
// Addresses in no module differ from run to run: all of them are one frame. Reasons for a cut are kept.
uint64_t hs_fleet_key__offset_of(const struct hs_follow_frame *frame);

#endif
