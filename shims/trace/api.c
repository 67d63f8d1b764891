// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/enter.h"
#include "runtime/journal.h"
#include "runtime/process.h"
#include "runtime/record.h"
#include "runtime/text.h"
#include "shims/common/real.h"

enum { MARK_TEXT = 1000 };

HS_EXPORT void heapsonde_api_start(void);
HS_EXPORT void heapsonde_api_start(void)
{
    hs_process__set_recording(true);
}

HS_EXPORT void heapsonde_api_stop(void);
HS_EXPORT void heapsonde_api_stop(void)
{
    hs_process__set_recording(false);
}

HS_EXPORT int heapsonde_api_sync(void);
HS_EXPORT int heapsonde_api_sync(void)
{
    return hs_process__sync();
}

HS_EXPORT void heapsonde_api_mark(uint64_t value, const char *text);
HS_EXPORT void heapsonde_api_mark(uint64_t value, const char *text)
{
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    if (!thread)
        return;
    char kept[MARK_TEXT + 1];
    struct hs_text copy;
    hs_text__start(&copy, kept, sizeof kept);
    hs_text__add(&copy, text ? text : "");
    thread->inside = HS_INSIDE_RECORDER;
    hs_journal__mark(thread->stream, value, kept);
    hs_record__leave(thread);
}

HS_EXPORT void heapsonde_api_pool_alloc(uint64_t pool, const void *block, size_t size);
HS_EXPORT void heapsonde_api_pool_alloc(uint64_t pool, const void *block, size_t size)
{
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    if (!thread)
        return;
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    uint64_t words[] = {pool, (uintptr_t)block, size, 0};
    hs_record__wide(thread, &caller, HS_WIDE_POOL_ALLOC, words, 4, 3, 0);
    hs_record__leave(thread);
}

HS_EXPORT void heapsonde_api_pool_free(uint64_t pool, const void *block);
HS_EXPORT void heapsonde_api_pool_free(uint64_t pool, const void *block)
{
    struct hs_thread *thread = hs_record__enter(HS_MODE_FREE);
    if (!thread)
        return;
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    uint64_t words[] = {pool, (uintptr_t)block, 0};
    hs_record__wide(thread, &caller, HS_WIDE_POOL_FREE, words, 3, hs_config.free_stacks ? 2 : HS_RECORD_NO_STACK, 0);
    hs_record__leave(thread);
}
