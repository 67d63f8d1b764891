// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/keys.h"

uint64_t hs_fleet_key__session(const struct hs_file_header *header)
{
    return hs_fleet_key__mixed(header->trace_id[0] + hs_fleet_key__mixed(header->trace_id[1] + 1));
}

uint64_t hs_fleet_key__build(const uint8_t build[HS_FLEET_BUILD])
{
    uint64_t words[3] = {0};
    memcpy(words, build, HS_FLEET_BUILD);
    return hs_fleet_key__mixed(words[0] + hs_fleet_key__mixed(words[1] + hs_fleet_key__mixed(words[2] + 1)));
}

const uint8_t *hs_fleet_key__build_of(const struct hs_follow *follow, const struct hs_follow_frame *frame)
{
    static const uint8_t none[HS_FLEET_BUILD];
    return frame->module == UINT32_MAX ? none : hs_follow__module(follow, frame->module)->build;
}

uint64_t hs_fleet_key__offset_of(const struct hs_follow_frame *frame)
{
    if (frame->module != UINT32_MAX || frame->offset < HS_CUT_LIMIT)
        return frame->offset;
    return HS_CUT_LIMIT;
}

uint64_t hs_fleet_key__stack(const struct hs_follow *follow, const struct hs_follow_frame *frames, size_t count)
{
    uint64_t key = 0;
    for (size_t i = 0; i < count; i++)
        key = hs_fleet_key__mixed(key + hs_fleet_key__build(hs_fleet_key__build_of(follow, &frames[i])) +
                                  hs_fleet_key__mixed(hs_fleet_key__offset_of(&frames[i]) + 1));
    return key;
}
