// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a loader needs that puts this library into a running process.
#include "format/attach.h"

#include "arch/system.h"
#include "runtime/prof/control.h"
#include "runtime/prof/dump_facts.h"
#include "runtime/rights.h"
#include "runtime/stream/stream.h"
#include "shims/common/heap_info.h"
#include "shims/prof/adopted.h"
#include "shims/prof/hooks.h"
#include "shims/prof/mallctl.h"
#include "shims/prof/process.h"

static void begin(void);
static void end(void);

// A word that is 0 if nothing is sampled.
static uint32_t works, *mode = &works;

HS_EXPORT struct hs_attach_table heapsonde_attach = {
    .magic = HS_ATTACH_MAGIC,
    .real = (uintptr_t *)&hs_real,
    .names = hs_real__names,
    .resolved = (uint32_t *)&hs_real__state,
    .trusted = &hs_rights__are_given,
    .begin = begin,
    .end = end,
    .mode = &mode,
    .info = hs_dump_facts__attached,
#ifdef HS_ARCH_HOOK_ENTRY
    .adopted = hs_adopted__enter,
    .adopted_names = hs_dump_facts__allocators,
#endif
    .number_at = offsetof(struct hs_sampler_thread, tid),
    .no_record = (uintptr_t)&hs_sampler_nobody,
};

// ---- the first calls ------------------------------------------------------------------------------------------------

#ifdef HS_ARCH_HOOK_ENTRY // where a running process can be sampled
enum { BLOCKS_COMPARED = 32 };

// The first calls of malloc by the program are where libc's functions may be called.
static struct {
    void *(*malloc)(size_t size);
    _Atomic bool is_asked, is_over;
    _Atomic uint32_t agreed;
} first;

static void note_older(void)
{
    if (!heapsonde_attach.heap_info || atomic_exchange(&first.is_asked, true))
        return;
    const size_t bytes = hs_heap_info__bytes(heapsonde_attach.heap_info);
    if (hs_sampler__add_older(bytes))
        hs_dump_facts__older = bytes;
    else
        atomic_store(&first.is_asked, false);
}

static void end_of_first(void)
{
    atomic_store(&first.is_over, true);
    __atomic_store_n(&hs_real.malloc, first.malloc, __ATOMIC_RELAXED);
}

// With other sizes in the words before blocks than the allocator says, it is asked for each.
static void compare(void *block)
{
    if (!hs_prof__agrees(block)) {
        end_of_first();
    } else if (atomic_fetch_add(&first.agreed, 1) + 1 >= BLOCKS_COMPARED && hs_sampler__sizes_are_in_headers()) {
        end_of_first();
        __atomic_store_n(&hs_prof_quick_malloc, first.malloc, __ATOMIC_RELAXED);
    }
}

static void *first_malloc(size_t size)
{
    void *block = first.malloc(size);
    if (block && !atomic_load(&first.is_over) && !hs_table__is_ours()) {
        note_older();
        compare(block);
    }
    return block;
}

static void look_at_first(void)
{
    if (!heapsonde_attach.is_glibcs)
        return;
    first.malloc = hs_real.malloc;
    hs_real.malloc = first_malloc;
}
#else
static void look_at_first(void)
{
}
#endif

// ---- begin and end --------------------------------------------------------------------------------------------------

// Both run in a thread of the loader, which has no record.
static void begin(void)
{
    heapsonde_attach.thread_self_at = (intptr_t)&hs_sampler_self - (intptr_t)hs_arch_thread_pointer();
    hs_sampler_self_will_be_at = heapsonde_attach.thread_word;
    hs_sampler__be(&hs_sampler_nobody);
    hs_filter__start();
    hs_prof_ctl__is_alone();
    look_at_first();
    hs_prof__begin();
    hs_control__wait_until_bound();
    works = 1;
}

static void end(void)
{
    hs_sampler__be(&hs_sampler_nobody);
    hs_control__end();
    hs_prof__end();
    hs_stream__leave();
    hs_sampler__end();
}
