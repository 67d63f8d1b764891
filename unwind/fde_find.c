// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/fde_find.h"

#include "unwind/debug_frame.h"
#include "unwind/eh_frame.h"
#include "unwind/jit_frames.h"
#include "unwind/rule_cache.h"

static bool find_in_jit(uintptr_t address, struct hs_fde_place *place)
{
    if (!hs_jit_frames_begin())
        return false;
    place->from_jit = hs_jit_frames_find(address, &place->section, &place->fde);
    if (!place->from_jit)
        hs_jit_frames_end();
    return place->from_jit;
}

// Registered frames are asked first: code that has them is in no module, and the search for a module would be in vain.
bool hs_fde_find(uintptr_t address, struct hs_fde_place *place)
{
    place->in_module = place->from_jit = place->scanned = false;
    if (find_in_jit(address, place))
        return true;
    place->in_module = hs_rule_can_be_key(address) && hs_module_find(address, &place->module);
    if (!place->in_module || place->module.anonymous)
        return false;
    if (hs_eh_frame_find(&place->module, address, &place->section, &place->fde))
        return true;
    place->scanned = hs_debug_frame_find(&place->module, address, &place->section, &place->fde);
    return place->scanned;
}

void hs_fde_release(const struct hs_fde_place *place)
{
    if (place->from_jit)
        hs_jit_frames_end();
}
