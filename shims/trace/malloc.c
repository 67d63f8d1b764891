// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The allocation family of C. Each function calls the real one first (a free: last) and changes nothing about it.
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "shims/common/aligned.h"
#include "shims/common/real.h"
#include "shims/trace/hooks.h"

#include <errno.h>

// ---- allocation ----------------------------------------------------------------------------------------------------

HS_EXPORT void *calloc(size_t count, size_t size);
HS_EXPORT void *malloc(size_t size);

HS_EXPORT void *malloc(size_t size)
{
    HS_TRACE_ALLOCATION(HS_RECORD_MALLOC, size,
                        HS_UNLIKELY(hs_config.zero_memory) ? hs_real.calloc(1, size) : hs_real.malloc(size));
}

HS_EXPORT void *calloc(size_t count, size_t size)
{
    HS_TRACE_ALLOCATION(HS_RECORD_CALLOC, count * size, hs_real.calloc(count, size));
}

static HS_COLD __attribute__((noinline)) void *allocate_aligned(size_t first, size_t size,
                                                                aligned_function *const *real)
{
    if (HS_UNLIKELY(!*real))
        hs_real__resolve();
    if (HS_UNLIKELY(!*real))
        return allocate_fallback(first, size, real);
    HS_TRACE_ALLOCATION(HS_RECORD_ALIGNED, size, (*real)(first, size));
}

HS_EXPORT HS_COLD int posix_memalign(void **result, size_t alignment, size_t size);
HS_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
    if (HS_UNLIKELY(!hs_real.posix_memalign))
        hs_real__resolve();
    if (HS_UNLIKELY(!hs_real.posix_memalign))
        return ENOMEM;
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    if (HS_UNLIKELY(!thread))
        return hs_real.posix_memalign(result, alignment, size);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    int failed = hs_real.posix_memalign(result, alignment, size);
    hs_trace__allocated(thread, &caller, HS_RECORD_ALIGNED, failed ? NULL : *result, size);
    return failed;
}

// ---- free ----------------------------------------------------------------------------------------------------------

#define RELEASE(block, call)                                                                                           \
    do {                                                                                                               \
        if (HS_UNLIKELY(!(block)) || HS_UNLIKELY(hs_bootstrap__owns(block)))                                           \
            return;                                                                                                    \
        struct hs_thread *thread = hs_record__enter(HS_MODE_FREE);                                                     \
        if (HS_UNLIKELY(!thread)) {                                                                                    \
            call;                                                                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        struct hs_registers caller, *wanted = NULL;                                                                    \
        if (HS_UNLIKELY(hs_config.free_stacks)) {                                                                      \
            HS_CAPTURE_CALLER(&caller);                                                                                \
            wanted = &caller;                                                                                          \
        }                                                                                                              \
        hs_record__free(thread, wanted, (uintptr_t)(block));                                                           \
        thread->inside = HS_INSIDE_REAL;                                                                               \
        call;                                                                                                          \
        hs_record__leave(thread);                                                                                      \
    } while (0)

HS_EXPORT void free(void *block);
HS_EXPORT void free(void *block)
{
    RELEASE(block, hs_real.free(block));
}

typedef void sized_function(void *block, size_t second, size_t third);

void hs_trace__release(void *block, size_t second, size_t third, void *real)
{
    if (!real)
        real = (void *)hs_real.free;
    RELEASE(block, ((sized_function *)real)(block, second, third));
}

HS_EXPORT HS_COLD void cfree(void *block);
HS_EXPORT void cfree(void *block)
{
    free(block);
}

HS_EXPORT HS_COLD void free_sized(void *block, size_t size);
HS_EXPORT void free_sized(void *block, size_t size)
{
    hs_trace__release(block, size, 0, (void *)hs_real.free_sized);
}

HS_EXPORT HS_COLD void free_aligned_sized(void *block, size_t alignment, size_t size);
HS_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    hs_trace__release(block, alignment, size, (void *)hs_real.free_aligned_sized);
}

// ---- realloc -------------------------------------------------------------------------------------------------------

// A block of the bootstrap arena moves to the real allocator.
static HS_COLD void *move_from_bootstrap(void *old, size_t size)
{
    size_t length = hs_bootstrap__size(old);
    void *block = hs_real.malloc(size);
    if (block)
        __builtin_memcpy(block, old, length < size ? length : size);
    return block;
}

// While recording pauses only the end of the old block is noted.
void hs_trace__reallocated(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t old, uint64_t began,
                           void *block, size_t size, size_t usable)
{
    bool released = old && (block || size == 0);
    if (released && (!block || !hs_process__is_recording())) {
        hs_record__free_at(thread, caller, old, began);
    } else if (block && !old) {
        if (hs_process__is_recording())
            hs_trace__note(thread, caller, HS_RECORD_MALLOC, block, size, usable);
    } else if (block) {
        thread->last_recorded = (uintptr_t)block;
        hs_record__reallocation(thread, caller, old, began, (uintptr_t)block, size, usable ? usable : size);
    }
    hs_record__leave(thread);
}

HS_EXPORT void *realloc(void *old, size_t size);
HS_EXPORT void *realloc(void *old, size_t size)
{
    bool is_early = old && HS_UNLIKELY(hs_bootstrap__owns(old));
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC | HS_MODE_FREE);
    if (HS_UNLIKELY(!thread))
        return is_early ? move_from_bootstrap(old, size) : hs_real.realloc(old, size);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    uint64_t began = hs_clock__now();
    void *block = is_early ? move_from_bootstrap(old, size) : hs_real.realloc(old, size);
    hs_trace__reallocated(thread, &caller, is_early ? 0 : (uintptr_t)old, began, block, size, hs_trace__usable(block));
    return block;
}

HS_EXPORT HS_COLD void *reallocarray(void *old, size_t count, size_t size);
HS_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        hs_real__set_errno(ENOMEM);
        return NULL;
    }
    return realloc(old, total);
}

// ---- queries -------------------------------------------------------------------------------------------------------

HS_EXPORT size_t malloc_usable_size(void *block);
HS_EXPORT size_t malloc_usable_size(void *block)
{
    if (HS_UNLIKELY(block && hs_bootstrap__owns(block)))
        return hs_bootstrap__size(block);
    return hs_real.malloc_usable_size(block);
}

HS_EXPORT HS_COLD int mallopt(int parameter, int value);
HS_EXPORT int mallopt(int parameter, int value)
{
    if (HS_UNLIKELY(!hs_real.mallopt))
        hs_real__resolve();
    if (HS_UNLIKELY(!hs_real.mallopt))
        return 0;
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    int result = hs_real.mallopt(parameter, value);
    if (!thread)
        return result;
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    uint64_t words[] = {(uint32_t)parameter | (uint64_t)(uint32_t)value << 32, (uint32_t)result};
    hs_record__wide(thread, &caller, HS_WIDE_MALLOPT, words, 2, 1, 32);
    hs_record__leave(thread);
    return result;
}
