// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a loader needs that puts this library into a running process.
#include "format/attach.h"

#include "arch/system.h"
#include "runtime/journal.h"
#include "runtime/process.h"
#include "runtime/python.h"
#include "runtime/rights.h"
#include "runtime/text.h"
#include "runtime/threads.h"
#include "shims/common/heap_info.h"
#include "shims/common/real.h"
#include "shims/common/symbols.h"
#include "shims/trace/adopted.h"

static void begin(void);

HS_EXPORT struct hs_attach_table heapsonde_attach = {
    .magic = HS_ATTACH_MAGIC,
    .real = (uintptr_t *)&hs_real,
    .names = hs_real__names,
    .resolved = (uint32_t *)&hs_real__state,
    .trusted = &hs_rights__are_given,
    .begin = begin,
    .end = hs_process__detach,
    .mode = (uint32_t **)&hs_shared,
    .info = hs_process__attached,
#ifdef HS_ARCH_HOOK_ENTRY
    .adopted = hs_adopted__enter,
    .adopted_names = hs_adopted__names,
#endif
    .number_at = offsetof(struct hs_thread, number),
};

// ---- what was allocated before -------------------------------------------------------------------------------------

#ifdef HS_ARCH_HOOK_ENTRY
enum { MOST_TRIES = 64 };

static struct {
    void *(*malloc)(size_t size);
    _Atomic bool is_asked, is_known;
    char bytes[24];
    _Atomic uint32_t tries;
} first;

// The first threads of the program that call malloc are where libc's functions may be called. It takes a few calls
// until there is a buffer to write to.
static void note_older(void)
{
    if (!atomic_exchange(&first.is_asked, true)) {
        struct hs_text text;
        hs_text__start(&text, first.bytes, sizeof first.bytes);
        hs_text__add_number(&text, hs_heap_info__bytes(heapsonde_attach.heap_info));
        atomic_store(&first.is_known, true);
    }
    if (atomic_load(&first.is_known) &&
        (hs_journal__info("older-bytes", first.bytes) || atomic_fetch_add(&first.tries, 1) >= MOST_TRIES))
        __atomic_store_n(&hs_real.malloc, first.malloc, __ATOMIC_RELAXED);
}

static void *first_malloc(size_t size)
{
    const struct hs_thread *self = hs_thread_self;
    if (self && self->inside)
        note_older();
    return first.malloc(size);
}

// Before its first instruction, a program has not even relocated libc's functions.
static void *first_malloc_of_all(size_t size)
{
    if (!atomic_exchange(&first.is_asked, true)) {
        __atomic_store_n(&hs_real.malloc, first.malloc, __ATOMIC_RELAXED);
        hs_process__libc_is_ready();
    }
    return first.malloc(size);
}

static void begin_with_program(void)
{
    first.malloc = hs_real.malloc;
    if (hs_process__attached[0]) {
        if (heapsonde_attach.heap_info)
            hs_real.malloc = first_malloc;
        hs_process__libc_is_ready();
        hs_python__begin(hs_symbols__find, hs_symbols__find_in);
    } else {
        hs_real.malloc = first_malloc_of_all;
        hs_process__wake();
    }
}
#else
static void begin_with_program(void)
{
    hs_process__libc_is_ready();
}
#endif

static void begin(void)
{
    heapsonde_attach.thread_self_at = (intptr_t)&hs_thread_self - (intptr_t)hs_arch_thread_pointer();
    begin_with_program();
}
