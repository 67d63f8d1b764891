// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/common/real.h"

#include "arch/system.h"
#include "shims/common/symbols.h"

#include <errno.h>
#include <stdatomic.h>

extern int *__errno_location(void) __attribute__((weak));

enum { UNRESOLVED, RESOLVING, RESOLVED };

_Atomic uint32_t hs_real__state;

void hs_real__set_errno(int error)
{
    if (__errno_location)
        *__errno_location() = error;
}

long hs_real__result(long result)
{
    if (!hs_system_failed(result))
        return result;
    hs_real__set_errno((int)-result);
    return -1;
}

// ---- before the real functions are known ---------------------------------------------------------------------------

static void *early_malloc(size_t size)
{
    hs_real__resolve();
    return hs_real.malloc != early_malloc ? hs_real.malloc(size) : hs_bootstrap__allocate(16, size);
}

static void *early_calloc(size_t count, size_t size)
{
    hs_real__resolve();
    if (hs_real.calloc != early_calloc)
        return hs_real.calloc(count, size);
    size_t total;
    // The arena is zero and never reused.
    return __builtin_mul_overflow(count, size, &total) ? NULL : hs_bootstrap__allocate(16, total);
}

static void *early_realloc(void *old, size_t size)
{
    hs_real__resolve();
    if (hs_real.realloc != early_realloc)
        return hs_real.realloc(old, size);
    void *block = hs_bootstrap__allocate(16, size);
    if (block && old && hs_bootstrap__owns(old)) {
        size_t length = hs_bootstrap__size(old);
        __builtin_memcpy(block, old, length < size ? length : size);
    }
    return block;
}

static void early_free(void *block)
{
    hs_real__resolve();
    if (hs_real.free != early_free)
        hs_real.free(block);
}

static size_t early_usable_size(void *block)
{
    hs_real__resolve();
    if (hs_real.malloc_usable_size != early_usable_size)
        return hs_real.malloc_usable_size(block);
    return block && hs_bootstrap__owns(block) ? hs_bootstrap__size(block) : 0;
}

struct hs_real hs_real = {
    .malloc = early_malloc,
    .calloc = early_calloc,
    .realloc = early_realloc,
    .free = early_free,
    .malloc_usable_size = early_usable_size,
};

// ---- the search ----------------------------------------------------------------------------------------------------

void *hs_real__find(const char *name)
{
    return hs_symbols__find(name);
}

bool hs_real__same_module(const void *a, const void *b)
{
    return hs_symbols__module_of(a) == hs_symbols__module_of(b);
}

bool hs_real__has_allocator(void)
{
    return hs_real.malloc != early_malloc;
}

// Only the bare minimum of an allocator may be missing a size query; its blocks then count as what was asked for.
static size_t unknown_usable_size(void *block)
{
    (void)block;
    return 0;
}

#define NAME(name, result, parameters) #name "\0"
const char hs_real__names[] = HS_REAL_FUNCTIONS(NAME);
#undef NAME

union hs_real_functions {
    struct hs_real named;
    void *each[sizeof(struct hs_real) / sizeof(void *)];
};

static void find_all(union hs_real_functions *found)
{
    const char *name = hs_real__names;
    for (size_t i = 0; i < sizeof found->each / sizeof *found->each; i++) {
        found->each[i] = hs_real__find(name);
        while (*name++)
            continue;
    }
}

void hs_real__resolve(void)
{
    uint32_t expected = UNRESOLVED;
    if (!atomic_compare_exchange_strong(&hs_real__state, &expected, RESOLVING))
        return;
    union hs_real_functions found;
    find_all(&found);
    if (!found.named.malloc_usable_size)
        found.named.malloc_usable_size = unknown_usable_size;
    if (found.named.malloc && found.named.calloc && found.named.realloc && found.named.free)
        hs_real = found.named;
    atomic_store_explicit(&hs_real__state, RESOLVED, memory_order_release);
}
