// SPDX-License-Identifier: MIT OR Apache-2.0
//
// jemalloc's own functions, for programs that are linked with it. What looks for them over another allocator finds
// these, and gets blocks of that.
#include "runtime/clock.h"
#include "runtime/process.h"
#include "shims/trace/hooks.h"

enum { ALIGNMENT_BITS = 63, ZERO = 64, NATURAL_ALIGNMENT = 2 * sizeof(void *) };

static struct {
    void *(*mallocx)(size_t size, int flags);
    void *(*rallocx)(void *block, size_t size, int flags);
    size_t (*xallocx)(void *block, size_t size, size_t extra, int flags);
    void (*dallocx)(void *block, int flags);
    void (*sdallocx)(void *block, size_t size, int flags);
} next;
static _Atomic bool next_is_known;

// Blocks that are not of the allocator that is recorded are its library's alone.
static bool is_recorded;

static HS_COLD __attribute__((noinline)) void look_for_next(void)
{
    *(void **)&next.mallocx = hs_real__find("mallocx");
    *(void **)&next.rallocx = hs_real__find("rallocx");
    *(void **)&next.xallocx = hs_real__find("xallocx");
    *(void **)&next.dallocx = hs_real__find("dallocx");
    *(void **)&next.sdallocx = hs_real__find("sdallocx");
    hs_real__resolve();
    is_recorded = !next.mallocx || hs_real__same_module((const void *)next.mallocx, (const void *)hs_real.malloc);
    atomic_store_explicit(&next_is_known, true, memory_order_release);
}

static inline bool recorded(void)
{
    if (HS_UNLIKELY(!atomic_load_explicit(&next_is_known, memory_order_acquire)))
        look_for_next();
    return is_recorded;
}

static size_t alignment_of(int flags)
{
    return (size_t)1 << (flags & ALIGNMENT_BITS & (sizeof(size_t) * 8 - 1));
}

static size_t usable_size(void *block)
{
    return hs_bootstrap__owns(block) ? hs_bootstrap__size(block) : hs_real.malloc_usable_size(block);
}

static bool is_aligned(int flags)
{
    return alignment_of(flags) > NATURAL_ALIGNMENT;
}

// ---- over another allocator ---------------------------------------------------------------------------------------

static void *allocate(size_t size, int flags)
{
    if (next.mallocx)
        return next.mallocx(size, flags);
    if (!is_aligned(flags))
        return flags & ZERO ? hs_real.calloc(1, size) : hs_real.malloc(size);
    void *block = NULL;
    if (hs_real.posix_memalign && hs_real.posix_memalign(&block, alignment_of(flags), size))
        block = NULL;
    return block && flags & ZERO ? __builtin_memset(block, 0, size) : block;
}

static void *resize(void *old, size_t size, int flags)
{
    if (next.rallocx && !hs_bootstrap__owns(old))
        return next.rallocx(old, size, flags);
    size_t before = usable_size(old);
    bool moves = is_aligned(flags) || hs_bootstrap__owns(old);
    void *block = moves ? allocate(size, flags & ~ZERO) : hs_real.realloc(old, size);
    if (!block)
        return NULL;
    if (moves) {
        __builtin_memcpy(block, old, before < size ? before : size);
        if (!hs_bootstrap__owns(old))
            hs_real.free(old);
    }
    if (flags & ZERO && size > before)
        __builtin_memset((char *)block + before, 0, size - before);
    return block;
}

// ---- the functions ------------------------------------------------------------------------------------------------

HS_EXPORT HS_COLD void *mallocx(size_t size, int flags);
HS_EXPORT void *mallocx(size_t size, int flags)
{
    if (!recorded())
        return next.mallocx(size, flags);
    HS_TRACE_ALLOCATION(is_aligned(flags) ? HS_RECORD_ALIGNED
                        : flags & ZERO    ? HS_RECORD_CALLOC
                                          : HS_RECORD_MALLOC,
                        size, allocate(size, flags));
}

HS_EXPORT HS_COLD void *rallocx(void *old, size_t size, int flags);
HS_EXPORT void *rallocx(void *old, size_t size, int flags)
{
    struct hs_thread *thread = recorded() ? hs_record__enter(HS_MODE_ALLOC | HS_MODE_FREE) : NULL;
    if (!thread)
        return resize(old, size, flags);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    uint64_t began = hs_clock__now();
    uintptr_t known = hs_bootstrap__owns(old) ? 0 : (uintptr_t)old;
    void *block = resize(old, size, flags);
    hs_trace__reallocated(thread, &caller, known, began, block, size ? size : 1, hs_trace__usable(block));
    return block;
}

// Nothing grows in place where there is no such function: its size as it is is always an answer.
HS_EXPORT HS_COLD size_t xallocx(void *block, size_t size, size_t extra, int flags);
HS_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
    struct hs_thread *thread = NULL;
    struct hs_registers caller;
    bool of_recorded = recorded();
    if (!next.xallocx || hs_bootstrap__owns(block))
        return usable_size(block);
    if (of_recorded)
        thread = hs_record__enter(HS_MODE_ALLOC | HS_MODE_FREE);
    if (!thread)
        return next.xallocx(block, size, extra, flags);
    HS_CAPTURE_CALLER(&caller);
    uint64_t began = hs_clock__now();
    size_t before = hs_real.malloc_usable_size(block), now = next.xallocx(block, size, extra, flags);
    if (now == before)
        hs_record__leave(thread);
    else
        hs_trace__reallocated(thread, &caller, (uintptr_t)block, began, block, now < size ? now : size, now);
    return now;
}

HS_EXPORT HS_COLD void dallocx(void *block, int flags);
HS_EXPORT void dallocx(void *block, int flags)
{
    if (!recorded() && next.dallocx)
        next.dallocx(block, flags);
    else
        hs_trace__release(block, (size_t)flags, 0, (void *)next.dallocx);
}

HS_EXPORT HS_COLD void sdallocx(void *block, size_t size, int flags);
HS_EXPORT void sdallocx(void *block, size_t size, int flags)
{
    if (!recorded() && next.sdallocx)
        next.sdallocx(block, size, flags);
    else
        hs_trace__release(block, size, (size_t)flags, (void *)next.sdallocx);
}
