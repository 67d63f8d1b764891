// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The aligned allocations that hardly any program calls. They jump to one function of the shim that includes this,
// which so has their caller for its own. Of a second argument those that take one know nothing.
#ifndef HEAPSONDE_SHIMS_COMMON_ALIGNED_H
#define HEAPSONDE_SHIMS_COMMON_ALIGNED_H

#include "arch/likely.h"
#include "runtime/memory.h"
#include "shims/common/real.h"

typedef void *aligned_function(size_t first, size_t size);

// Allocates by *real, which is resolved first where it has to be, and records it. Defined by who includes this.
static void *allocate_aligned(size_t first, size_t size, aligned_function *const *real);

HS_EXPORT HS_COLD void *memalign(size_t alignment, size_t size);

static size_t page_rounded(size_t size)
{
    size_t page = hs_memory__page_size();
    return (size + page - 1) & ~(page - 1);
}

// The functions that implement an aligned allocation if the real one is missing.
static HS_COLD void *allocate_fallback(size_t first, size_t size, aligned_function *const *real)
{
    if (real == &hs_real.memalign)
        return hs_bootstrap__allocate(first, size);
    return memalign(real == &hs_real.aligned_alloc ? first : hs_memory__page_size(),
                    real == (aligned_function *const *)&hs_real.pvalloc ? page_rounded(size) : size);
}

HS_EXPORT void *memalign(size_t alignment, size_t size)
{
    return allocate_aligned(alignment, size, &hs_real.memalign);
}

HS_EXPORT HS_COLD void *aligned_alloc(size_t alignment, size_t size);
HS_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return allocate_aligned(alignment, size, &hs_real.aligned_alloc);
}

HS_EXPORT HS_COLD void *valloc(size_t size);
HS_EXPORT void *valloc(size_t size)
{
    return allocate_aligned(size, size, (aligned_function *const *)&hs_real.valloc);
}

HS_EXPORT HS_COLD void *pvalloc(size_t size);
HS_EXPORT void *pvalloc(size_t size)
{
    return allocate_aligned(size, size, (aligned_function *const *)&hs_real.pvalloc);
}

#endif
