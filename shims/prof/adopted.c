// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/prof/adopted.h"

#ifdef HS_ARCH_HOOK_ENTRY
#include "shims/common/adopted.h"
#include "shims/prof/hooks.h"

struct hs_hook_result hs_adopted__call(struct hs_hook_call *call) __attribute__((visibility("hidden"), used));
HS_ARCH_HOOK_ENTRY(hs_adopted__enter, hs_adopted__call);

static uintptr_t carry_out(const struct hs_adopted_call *adopted, uint64_t function)
{
    struct hs_nesting nesting = hs_prof__enter_real();
    uintptr_t result = hs_adopted__carry_out(adopted, function);
    hs_prof__leave_real(nesting);
    return result;
}

// 0: not known.
static size_t usable_size(const struct hs_adopted_call *adopted, uintptr_t block)
{
    return adopted->function->usable && block ? hs_prof_counted_size(hs_adopted__usable(adopted, block)) : 0;
}

static void count(const struct hs_adopted_call *adopted, uintptr_t block)
{
    if (!block)
        return;
    size_t usable = usable_size(adopted, block), requested = hs_adopted__size(adopted, usable);
    if (!usable)
        usable = hs_prof_counted_size(requested);
    if (requested > usable) // of a block that was resized in place by less than was wanted
        requested = usable;
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->allocated + usable < thread->next)
        thread->allocated += usable;
    else
        hs_sampler__allocated_slowly(thread, &adopted->caller, (void *)block, requested, usable);
}

static void count_freed(size_t usable)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->ready)
        thread->deallocated += usable;
}

static void take(const struct hs_adopted_call *adopted, uintptr_t block)
{
    if (hs_filter__may_hold(block))
        hs_prof__release(&adopted->caller, (void *)block);
    count_freed(usable_size(adopted, block));
}

// As in realloc(): the old block's sample is taken out before the address may be given to another thread.
static uintptr_t move(const struct hs_adopted_call *adopted, uint64_t function)
{
    uintptr_t old = hs_adopted__block(adopted);
    size_t before = usable_size(adopted, old);
    struct hs_taken_sample taken = {0, 0};
    if (old && hs_filter__may_hold(old))
        taken = hs_sampler__take(hs_sampler_self, old);
    uintptr_t block = carry_out(adopted, function);
    bool stays = !block && adopted->function->what == HS_ATTACH_MOVES && hs_adopted__size(adopted, 0);
    if (stays) {
        hs_sampler__give_back(hs_sampler_self, taken);
    } else {
        count_freed(before);
        hs_sampler__drop(hs_sampler_self, taken);
    }
    count(adopted, block);
    return block;
}

static uintptr_t resize(const struct hs_adopted_call *adopted)
{
    uintptr_t block = hs_adopted__block(adopted);
    size_t before = usable_size(adopted, block);
    uintptr_t now = carry_out(adopted, adopted->function->original);
    if (now != before) {
        take(adopted, block);
        count(adopted, block);
    }
    return now;
}

// 0: a function that throws has to be called, and has changed nothing yet.
static uintptr_t give(const struct hs_adopted_call *adopted)
{
    const struct hs_attach_function *function = adopted->function;
    uint64_t called = function->silent ? function->silent : function->original;
    if (function->what != HS_ATTACH_GIVES)
        return move(adopted, called);
    uintptr_t block = carry_out(adopted, called);
    count(adopted, block);
    return block;
}

static uintptr_t store(const struct hs_adopted_call *adopted)
{
    uintptr_t failed = carry_out(adopted, adopted->function->original);
    if (!(uint32_t)failed)
        count(adopted, *(uintptr_t *)hs_adopted__block(adopted));
    return failed;
}

struct hs_hook_result hs_adopted__call(struct hs_hook_call *call)
{
    const struct hs_attach_function *function = call->function;
    const struct hs_hook_result pass = {function->original, true};
    const struct hs_adopted_call adopted = {.function = function,
                                            .arguments = call->arguments,
                                            .caller = {.pc = call->pc, .sp = (uintptr_t)(call + 1), .fp = call->fp}};
    uintptr_t value;
    if (function->what == HS_ATTACH_TAKES) {
        if (call->arguments[function->block])
            take(&adopted, call->arguments[function->block]);
        return pass;
    }
    if (function->what == HS_ATTACH_STORES)
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
