// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A call of a function that a loader has patched (format/attach.h).
#ifndef HEAPSONDE_SHIMS_COMMON_ADOPTED_H
#define HEAPSONDE_SHIMS_COMMON_ADOPTED_H

#include "format/attach.h"
#include "unwind/capture.h"

#include <stddef.h>

struct hs_adopted_call {
    const struct hs_attach_function *function;
    const uintptr_t *arguments;
    struct hs_registers caller;
};

typedef uintptr_t hs_adopted_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

// Calls `function` with the same arguments.
static inline uintptr_t hs_adopted__carry_out(const struct hs_adopted_call *call, uint64_t function)
{
    const uintptr_t *arguments = call->arguments;
    return ((hs_adopted_function *)(uintptr_t)function)(arguments[0], arguments[1], arguments[2], arguments[3],
                                                        arguments[4], arguments[5]);
}

// The block that an argument is.
static inline uintptr_t hs_adopted__block(const struct hs_adopted_call *call)
{
    return call->arguments[call->function->block];
}

// 0: not known.
static inline size_t hs_adopted__usable(const struct hs_adopted_call *call, uintptr_t block)
{
    uint64_t usable = call->function->usable;
    return usable && block ? ((size_t(*)(uintptr_t))(uintptr_t)usable)(block) : 0;
}

// What was asked for; of a function without a size, `usable`.
static inline size_t hs_adopted__size(const struct hs_adopted_call *call, size_t usable)
{
    const struct hs_attach_function *function = call->function;
    size_t total;
    if (function->size == HS_ATTACH_NONE)
        return usable;
    if (function->count == HS_ATTACH_NONE)
        return call->arguments[function->size];
    return __builtin_mul_overflow(call->arguments[function->size], call->arguments[function->count], &total) ? SIZE_MAX
                                                                                                             : total;
}

#endif
