// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/room.h"

#include "runtime/config.h"
#include "runtime/prof/sampler_thread.h"

enum { UNSHORTENED = 14 };

bool hs_room__is_left(uint64_t bytes, unsigned share)
{
    uint64_t memory = hs_config.memory ? hs_config.memory : HS_MEMORY_DEFAULT;
    return bytes <= memory / share / 16 * (UNSHORTENED + hs_sampler_self->shortening);
}
