// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/cull.h"

void hs_cull__slot(struct hs_slot *slot)
{
    (void)slot;
}

void hs_cull__reset(void)
{
}
