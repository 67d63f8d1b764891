// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sizes of blocks: from the word before them, where that was found out to be right on blocks of every kind; else by
// asking the allocator.
#include "shims/prof/hooks.h"

bool hs_prof__agrees(const void *block)
{
    return block && hs_prof_usable_in_header(block) == hs_real.malloc_usable_size((void *)block);
}

void hs_prof__try_headers(void)
{
    static const size_t sizes[] = {0, 1, 24, 25, 100, 1000, 1032, 5000, 70000, 200000, 3000000};
    // Another allocator may have anything there, or no page at all: only glibc's own is looked at.
    if (!hs_real__same_module((void *)hs_real.malloc, hs_real__find("gnu_get_libc_version")))
        return;
    bool all = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = hs_real.malloc(sizes[i]);
        void *aligned = hs_real.memalign ? hs_real.memalign(256, sizes[i]) : NULL;
        void *zeroed = hs_real.calloc(1, sizes[i]);
        all =
            hs_prof__agrees(block) && hs_prof__agrees(zeroed) && (!hs_real.memalign || hs_prof__agrees(aligned)) && all;
        hs_real.free(block);
        hs_real.free(aligned);
        hs_real.free(zeroed);
    }
    if (all && hs_sampler__sizes_are_in_headers())
        hs_prof_quick_malloc = hs_real.malloc;
}
