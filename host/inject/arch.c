// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arch.h"

const struct hs_inject_arch *hs_inject_arch__native(void)
{
    static const struct hs_inject_arch *const all[] = {&hs_inject_amd64, &hs_inject_aarch64};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->stub)
            return all[i];
    return NULL;
}
