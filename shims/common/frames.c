// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Unwind information of generated code, as JIT compilers announce it to libgcc.
#include "heapsonde/unwind.h"
#include "shims/common/real.h"

HS_EXPORT void __register_frame(void *eh_frame);
HS_EXPORT void __register_frame(void *eh_frame)
{
    void (*real)(void *) = hs_real.__register_frame;
    if (!real)
        hs_real.__register_frame = real = (void (*)(void *))hs_real__find("__register_frame");
    hs_register_frames(eh_frame);
    if (real)
        real(eh_frame);
}

HS_EXPORT void __deregister_frame(void *eh_frame);
HS_EXPORT void __deregister_frame(void *eh_frame)
{
    void (*real)(void *) = hs_real.__deregister_frame;
    if (!real)
        hs_real.__deregister_frame = real = (void (*)(void *))hs_real__find("__deregister_frame");
    hs_deregister_frames(eh_frame);
    if (real)
        real(eh_frame);
}
