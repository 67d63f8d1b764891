// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program whose code is in segments that are not next to each other, as large pages need it: the module of each is
// the whole program.
#include "unwind/module.h"

#include <stdio.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

__attribute__((section(".text_apart"), noinline, used)) static int apart(void)
{
    return 1;
}

static int is_wrong(int (*code)(void), const char *what)
{
    struct hs_module module;
    struct hs_range segment;
    uintptr_t bias;
    bool found = hs_module_find((uintptr_t)code, &module);
    if (found && module.start == (uintptr_t)__ehdr_start && !module.anonymous && hs_module_bias(&module, &bias) &&
        hs_module_segment(&module, (const void *)code, &segment))
        return 0;
    printf("%s: module %#lx, the program is at %#lx\n", what, found ? (unsigned long)module.start : 0,
           (unsigned long)__ehdr_start);
    return 1;
}

static int near(void)
{
    return 0;
}

int main(void)
{
    return is_wrong(near, "near") + is_wrong(apart, "apart");
}
