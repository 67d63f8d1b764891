// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions that carry the linker names a Rust compiler gives: legacy with a hash, and v0.
#include <stdlib.h>

void *legacy(size_t size) __asm__("_ZN5alloc3vec16Vec$LT$T$C$A$GT$13with_capacity17h0123456789abcdefE");
void *v0(size_t size) __asm__("_RNvNtCs1234_7mycrate3foo3bar");

__attribute__((noinline)) void *legacy(size_t size)
{
    return malloc(size);
}

__attribute__((noinline)) void *v0(size_t size)
{
    void *block = legacy(size);
    free(block);
    return legacy(size + 1);
}
