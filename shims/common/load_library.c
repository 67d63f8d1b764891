// SPDX-License-Identifier: MIT OR Apache-2.0
//
// dlopen(). libc's must see the program as its caller, because the search path depends on it. So it is reached by a
// jump, and this file may not be compiled as Thumb code for ARMv5, which has no such jump.
#include "arch/likely.h"
#include "runtime/config.h"
#include "shims/common/real.h"
#include "shims/common/shim.h"

#include <dlfcn.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 8 // glibc's; musl knows none
#endif

// A library that is bound to itself first, and then to its own libraries, would get past us to the C library's malloc.
HS_EXPORT void *dlopen(const char *file, int flags);
HS_EXPORT void *dlopen(const char *file, int flags)
{
    if (HS_UNLIKELY(!hs_real.dlopen))
        hs_real__resolve();
    if (!hs_real.dlopen)
        return NULL;
    return hs_real.dlopen(file, hs_config.keep_deepbind ? flags : flags & ~RTLD_DEEPBIND);
}
