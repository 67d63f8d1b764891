// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/trace/adopted.h"

#ifdef HS_ARCH_HOOK_ENTRY
#include "runtime/clock.h"
#include "runtime/journal.h"
#include "shims/common/adopted.h"
#include "shims/trace/hooks.h"

struct hs_hook_result hs_adopted__call(struct hs_hook_call *call) __attribute__((visibility("hidden"), used));
HS_ARCH_HOOK_ENTRY(hs_adopted__enter, hs_adopted__call);

char hs_adopted__names[HS_ATTACH_NAMES] __attribute__((used));

// A call that is recorded.
struct adopted {
    struct hs_adopted_call call;
    struct hs_thread *thread;
};

static void note_block(const struct adopted *adopted, uintptr_t block)
{
    if (block) {
        size_t usable = hs_adopted__usable(&adopted->call, block);
        hs_trace__note(adopted->thread, &adopted->call.caller, adopted->call.function->kind, (void *)block,
                       hs_adopted__size(&adopted->call, usable), usable);
    }
    hs_record__leave(adopted->thread);
}

static void take(const struct adopted *adopted)
{
    hs_record__free(adopted->thread, &adopted->call.caller, hs_adopted__block(&adopted->call));
    adopted->thread->inside = HS_INSIDE_REAL;
    hs_adopted__carry_out(&adopted->call, adopted->call.function->original);
    hs_record__leave(adopted->thread);
}

static void note_move(const struct adopted *adopted, uint64_t began, uintptr_t block)
{
    uintptr_t old = hs_adopted__block(&adopted->call);
    size_t usable = hs_adopted__usable(&adopted->call, block), size = hs_adopted__size(&adopted->call, usable);
    if (!block && adopted->call.function->what == HS_ATTACH_REPLACES)
        size = 0;
    hs_trace__reallocated(adopted->thread, &adopted->call.caller, old, began, (void *)block, size, usable);
}

static uintptr_t resize(const struct adopted *adopted)
{
    uintptr_t block = hs_adopted__block(&adopted->call);
    uint64_t began = hs_clock__now();
    size_t before = hs_adopted__usable(&adopted->call, block), wanted = hs_adopted__size(&adopted->call, 0);
    size_t now = hs_adopted__carry_out(&adopted->call, adopted->call.function->original);
    if (now == before)
        hs_record__leave(adopted->thread);
    else
        hs_trace__reallocated(adopted->thread, &adopted->call.caller, block, began, (void *)block,
                              now < wanted ? now : wanted, now);
    return now;
}

// 0: a function that throws has to be called, and has changed nothing yet.
static uintptr_t give(const struct adopted *adopted)
{
    const struct hs_attach_function *function = adopted->call.function;
    uint64_t began = function->what == HS_ATTACH_GIVES ? 0 : hs_clock__now();
    uintptr_t block = hs_adopted__carry_out(&adopted->call, function->silent ? function->silent : function->original);
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
    uintptr_t failed = hs_adopted__carry_out(&adopted->call, adopted->call.function->original);
    note_block(adopted, (uint32_t)failed ? 0 : *(uintptr_t *)hs_adopted__block(&adopted->call));
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
static void emit_names(void)
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
    const struct adopted adopted = {.call = {.function = function,
                                             .arguments = call->arguments,
                                             .caller = {.pc = call->pc, .sp = (uintptr_t)(call + 1), .fp = call->fp}},
                                    .thread = hs_record__enter(wanted_mode(function))};
    uintptr_t value = 0;
    if (!adopted.thread)
        return pass;
    emit_names();
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
