// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What binding.cpp has bound: functions that another library calls without being linked with this one.
#include "program.h"

extern "C" __attribute__((visibility("default"))) int bound_plain(int number);

int bound_plain(int number)
{
    return number + 1;
}

#ifdef WITH_RESOLVER
// The loader calls this while it binds.
extern "C" NOINLINE int (*bound_resolve())(int)
{
    free(allocate(40));
    free(keep(calloc(3, 5)));
    delete static_cast<char *>(keep(new char));
    return bound_plain;
}

extern "C" __attribute__((visibility("default"), ifunc("bound_resolve"))) int bound_resolved(int number);
#endif
