// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/keys.h"

uint64_t hs_fleet_key__session(const uint64_t trace_id[2])
{
    return hs_fleet_key__mixed(trace_id[0] + hs_fleet_key__mixed(trace_id[1] + 1));
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = hs_fleet_key__mixed(hash + (uint8_t)*text);
    return hs_fleet_key__mixed(hash + 256);
}

uint64_t hs_fleet_key__dumped(const char *device, const char *executable, const char *pid, const char *since)
{
    const uint64_t program = mix_text(mix_text(1, device), executable);
    return pid && since ? mix_text(mix_text(program, pid), since) : program;
}

uint64_t hs_fleet_key__build(const uint8_t build[HS_FLEET_BUILD])
{
    uint64_t words[3] = {0};
    memcpy(words, build, HS_FLEET_BUILD);
    return hs_fleet_key__mixed(words[0] + hs_fleet_key__mixed(words[1] + hs_fleet_key__mixed(words[2] + 1)));
}

const uint8_t hs_fleet_no_build[HS_FLEET_BUILD];

struct hs_fleet_place hs_fleet_key__place_of(const struct hs_follow *follow, const struct hs_follow_frame *frame)
{
    if (frame->module == UINT32_MAX)
        return (struct hs_fleet_place){hs_fleet_no_build, NULL,
                                       frame->offset < HS_CUT_LIMIT ? frame->offset : HS_CUT_LIMIT};
    const struct hs_follow_module *module = hs_follow__module(follow, frame->module);
    return (struct hs_fleet_place){module->build, module->path, frame->offset};
}

static uint64_t add(uint64_t key, struct hs_fleet_place place)
{
    return hs_fleet_key__mixed(key + hs_fleet_key__build(place.build) + hs_fleet_key__mixed(place.offset + 1));
}

uint64_t hs_fleet_key__places(const struct hs_fleet_place *places, size_t count)
{
    uint64_t key = 0;
    for (size_t i = 0; i < count; i++)
        key = add(key, places[i]);
    return key;
}

uint64_t hs_fleet_key__stack(const struct hs_follow *follow, const struct hs_follow_frame *frames, size_t count)
{
    uint64_t key = 0;
    for (size_t i = 0; i < count; i++)
        key = add(key, hs_fleet_key__place_of(follow, &frames[i]));
    return key;
}
