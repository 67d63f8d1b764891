// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/trace/adopted.h"

#ifdef HS_ARCH_HOOK_ENTRY
#include "format/attach.h"
#include "runtime/clock.h"
#include "runtime/journal.h"
#include "shims/trace/hooks.h"

struct hs_hook_result hs_adopted__call(struct hs_hook_call *call) __attribute__((visibility("hidden"), used));
HS_ARCH_HOOK_ENTRY(hs_adopted__enter, hs_adopted__call);

char hs_adopted__names[HS_ATTACH_NAMES] __attribute__((used));

// One of their calls that is recorded.
struct adopted {
    const struct hs_attach_function *function;
    const uintptr_t *arguments;
    struct hs_thread *thread;
    struct hs_registers caller;
};

typedef uintptr_t any_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static uintptr_t carry_out(const struct adopted *adopted, uint64_t function)
{
    const uintptr_t *arguments = adopted->arguments;
    return ((any_function *)function)(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                                      arguments[5]);
}

static size_t usable_size(const struct adopted *adopted, uintptr_t block)
{
    uint64_t usable = adopted->function->usable;
    return usable && block ? ((size_t(*)(uintptr_t))usable)(block) : 0;
}

static size_t size_of(const struct adopted *adopted, size_t usable)
{
    const struct hs_attach_function *function = adopted->function;
    size_t total;
    if (function->size == HS_ATTACH_NONE)
        return usable;
    if (function->count == HS_ATTACH_NONE)
        return adopted->arguments[function->size];
    return __builtin_mul_overflow(adopted->arguments[function->size], adopted->arguments[function->count], &total)
               ? SIZE_MAX
               : total;
}

static void note_block(const struct adopted *adopted, uintptr_t block)
{
    if (block) {
        size_t usable = usable_size(adopted, block);
        hs_trace__note(adopted->thread, &adopted->caller, adopted->function->kind, (void *)block,
                       size_of(adopted, usable), usable);
    }
    hs_record__leave(adopted->thread);
}

static void take(const struct adopted *adopted)
{
    hs_record__free(adopted->thread, &adopted->caller, adopted->arguments[adopted->function->block]);
    adopted->thread->inside = HS_INSIDE_REAL;
    carry_out(adopted, adopted->function->original);
    hs_record__leave(adopted->thread);
}

static void note_move(const struct adopted *adopted, uint64_t began, uintptr_t block)
{
    uintptr_t old = adopted->arguments[adopted->function->block];
    size_t usable = usable_size(adopted, block), size = size_of(adopted, usable);
    if (!block && adopted->function->what == HS_ATTACH_REPLACES)
        size = 0;
    hs_trace__reallocated(adopted->thread, &adopted->caller, old, began, (void *)block, size, usable);
}

static uintptr_t resize(const struct adopted *adopted)
{
    uintptr_t block = adopted->arguments[adopted->function->block];
    uint64_t began = hs_clock__now();
    size_t before = usable_size(adopted, block), wanted = size_of(adopted, 0);
    size_t now = carry_out(adopted, adopted->function->original);
    if (now == before)
        hs_record__leave(adopted->thread);
    else
        hs_trace__reallocated(adopted->thread, &adopted->caller, block, began, (void *)block,
                              now < wanted ? now : wanted, now);
    return now;
}

// 0: a function that throws has to be called, and has changed nothing yet.
static uintptr_t give(const struct adopted *adopted)
{
    const struct hs_attach_function *function = adopted->function;
    uint64_t began = function->what == HS_ATTACH_GIVES ? 0 : hs_clock__now();
    uintptr_t block = carry_out(adopted, function->silent ? function->silent : function->original);
    if (!block && function->silent)
        hs_record__leave(adopted->thread);
    else if (function->what == HS_ATTACH_GIVES)
        note_block(adopted, block);
    else
        note_move(adopted, began, block);
    return block;
}

static uintptr_t store(const struct adopted *adopted)
{
    uintptr_t failed = carry_out(adopted, adopted->function->original);
    note_block(adopted, (uint32_t)failed ? 0 : *(uintptr_t *)adopted->arguments[adopted->function->block]);
    return failed;
}

static uint32_t wanted_mode(const struct hs_attach_function *function)
{
    if (function->what == HS_ATTACH_TAKES)
        return HS_MODE_FREE;
    return function->what == HS_ATTACH_GIVES || function->what == HS_ATTACH_STORES ? HS_MODE_ALLOC
                                                                                   : HS_MODE_ALLOC | HS_MODE_FREE;
}

static _Atomic bool are_told;

void hs_adopted__after_fork(void)
{
    atomic_store(&are_told, false);
}

// The trace says which allocators these are. It takes a few calls until there is a buffer to write to.
static void tell_names(void)
{
    if (HS_UNLIKELY(!atomic_load_explicit(&are_told, memory_order_relaxed)) &&
        hs_journal__info("allocators", hs_adopted__names))
        atomic_store(&are_told, true);
}

struct hs_hook_result hs_adopted__call(struct hs_hook_call *call)
{
    const struct hs_attach_function *function = call->function;
    const struct hs_hook_result pass = {function->original, true};
    if (function->what == HS_ATTACH_TAKES && !call->arguments[function->block])
        return pass;
    struct adopted adopted = {.function = function,
                              .arguments = call->arguments,
                              .thread = hs_record__enter(wanted_mode(function)),
                              .caller = {.pc = call->pc, .sp = (uintptr_t)(call + 1), .fp = call->fp}};
    uintptr_t value = 0;
    if (!adopted.thread)
        return pass;
    tell_names();
    if (function->what == HS_ATTACH_TAKES)
        take(&adopted);
    else if (function->what == HS_ATTACH_STORES)
        value = store(&adopted);
    else if (function->what == HS_ATTACH_RESIZES)
        value = resize(&adopted);
    else
        value = give(&adopted);
    return !value && function->silent ? pass : (struct hs_hook_result){value, false};
}
#else
typedef int hs_adopted_is_for_other_machines;
#endif
