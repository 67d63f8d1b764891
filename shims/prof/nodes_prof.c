// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The nodes of the profiler: prof.*, thread.prof.* and what is under experimental.
#include "runtime/prof/contexts.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/events.h"
#include "runtime/prof/options.h"
#include "runtime/prof/records.h"
#include "runtime/prof/sampler.h"
#include "runtime/text.h"
#include "shims/prof/nodes.h"
#include "unwind/include/heapsonde/unwind.h"

#include <errno.h>

enum { BINS = 36, LARGE_CLASSES = HS_CLASS_COUNT_LIMIT - BINS };

static bool is_on(void)
{
    return hs_sampler__is_on();
}

// ---- switches -------------------------------------------------------------------------------------------------------

// With profiling off they read false; `prof.active` may be told to stay so, the others may not be written.
#define SWITCH(name, variable)                                                                                         \
    static uint64_t read_##name(const struct hs_call *call)                                                            \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return is_on() && atomic_load(&hs_sampler.variable);                                                           \
    }
SWITCH(active, active)
SWITCH(thread_active_init, thread_active_init)
SWITCH(gdump, gdump)

static int write_active(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    if (!is_on())
        return value ? ENOENT : 0;
    if (commit)
        hs_sampler__set_active(value != 0);
    return 0;
}

static int write_thread_active_init(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    if (commit)
        atomic_store(&hs_sampler.thread_active_init, value != 0);
    return 0;
}

static int write_gdump(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    if (commit) {
        atomic_store(&hs_sampler.gdump, value != 0);
        hs_sampler__set_rate(hs_sampler.sample_bytes); // every thread comes by and sees it
    }
    return 0;
}

// ---- prof.dump, prefix, reset ---------------------------------------------------------------------------------------

static const char *text_of(uint64_t value)
{
    return (const char *)(uintptr_t)value;
}

static int write_dump(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)commit;
    int error = value ? hs_dump__to_file(text_of(value), hs_prof_options.dump_format)
                      : hs_dump__automatic(HS_DUMP_MANUAL, NULL);
    return error ? EFAULT : 0;
}

static int write_prefix(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)commit;
    if (!call->new)
        return 0;
    if (!value)
        return EFAULT;
    hs_dump__set_prefix(text_of(value));
    return 0;
}

static int write_reset(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)commit;
    if (call->new)
        hs_sampler__set_rate((uint64_t)1 << (value > 63 ? 63 : value));
    hs_sampler__reset();
    return 0;
}

static uint64_t read_interval(const struct hs_call *call)
{
    (void)call;
    return is_on() ? hs_prof_options.interval_bytes : 0;
}

// Of a rate that is no power of two the next smaller one.
static uint64_t read_lg_sample(const struct hs_call *call)
{
    (void)call;
    return is_on() ? 63 - (unsigned)__builtin_clzll(hs_sampler.sample_bytes | 1) : 0;
}

// ---- the log --------------------------------------------------------------------------------------------------------

static int write_log_start(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)commit;
    return hs_allocation_log__start(text_of(value)) ? 0 : EFAULT;
}

static int write_log_stop(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    return hs_allocation_log__stop() ? 0 : EFAULT;
}

// ---- prof.stats -----------------------------------------------------------------------------------------------------

static bool accepts_bin(const struct hs_call *call, size_t index)
{
    (void)call;
    return is_on() && hs_prof_options.stats && index < BINS;
}

static bool accepts_large(const struct hs_call *call, size_t index)
{
    (void)call;
    return is_on() && hs_prof_options.stats && index < LARGE_CLASSES;
}

// prof.stats.bins.<i>.live: number 10, 10, 0, i, 0
static int run_count(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    if (call->new || call->new_length)
        return EPERM;
    uint32_t place = (uint32_t)call->mib[3] + (call->mib[2] ? BINS : 0);
    struct hs_class_count count = call->mib[4] ? hs_class_counts__total(place) : hs_class_counts__live(place);
    return hs_node__give(call, &count, sizeof count);
}

enum { COUNT_NODES = 2 };
#define COUNT_INDEX(accepts)                                                                                           \
    {                                                                                                                  \
        HS_INDEX(COUNT_NODES, accepts), HS_RUNS("live", HS_TYPE_NONE, HS_ACCESS_OWN, HS_NEEDS_PROF, run_count),        \
            HS_RUNS("accum", HS_TYPE_NONE, HS_ACCESS_OWN, HS_NEEDS_PROF, run_count),                                   \
    }
static const struct hs_node bin_index[1 + COUNT_NODES] = COUNT_INDEX(accepts_bin);
static const struct hs_node large_index[1 + COUNT_NODES] = COUNT_INDEX(accepts_large);
static const struct hs_node stats_nodes[] = {HS_BRANCH("bins", bin_index), HS_BRANCH("lextents", large_index)};

const struct hs_node hs_nodes_prof[HS_PROF_NODES] = {
    HS_BOTH("thread_active_init", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_PROF_TO_WRITE, read_thread_active_init,
            write_thread_active_init),
    HS_BOTH("active", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_active, write_active),
    HS_RUNS("dump", HS_TYPE_TEXT, HS_ACCESS_WRITE, HS_NEEDS_PROF, write_dump),
    HS_BOTH("gdump", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_PROF_TO_WRITE, read_gdump, write_gdump),
    HS_RUNS("prefix", HS_TYPE_TEXT, HS_ACCESS_WRITE, HS_NEEDS_PROF, write_prefix),
    HS_RUNS("reset", HS_TYPE_SIZE, HS_ACCESS_WRITE, HS_NEEDS_PROF, write_reset),
    HS_READS("interval", HS_TYPE_64, read_interval),
    HS_READS("lg_sample", HS_TYPE_SIZE, read_lg_sample),
    HS_RUNS("log_start", HS_TYPE_TEXT, HS_ACCESS_WRITE, HS_NEEDS_PROF, write_log_start),
    HS_RUNS("log_stop", HS_TYPE_NONE, HS_ACCESS_UNCHECKED, HS_NEEDS_PROF, write_log_stop),
    HS_BRANCH("stats", stats_nodes),
};

// ---- thread.prof ----------------------------------------------------------------------------------------------------

static uint64_t read_name(const struct hs_call *call)
{
    (void)call;
    const struct hs_sampler_thread *thread = hs_sampler__self();
    return (uintptr_t)(thread ? thread->name : "");
}

static bool is_printable(const char *name)
{
    for (; *name; name++)
        if ((*name < '!' || *name > '~') && *name != ' ' && *name != '\t')
            return false;
    return true;
}

static int write_name(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)commit;
    const char *name = text_of(value);
    struct hs_sampler_thread *thread = hs_sampler__self();
    struct hs_text text;
    if (hs_prof_options.sys_thread_name)
        return ENOENT;
    if (!name || !is_printable(name))
        return EFAULT;
    if (!thread || !hs_table__lock())
        return EAGAIN;
    hs_text__start(&text, thread->name, sizeof thread->name);
    hs_text__add(&text, name);
    hs_table__unlock();
    return 0;
}

static uint64_t read_thread_active(const struct hs_call *call)
{
    (void)call;
    const struct hs_sampler_thread *thread = hs_sampler__self();
    return is_on() && thread && thread->active;
}

static int write_thread_active(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    struct hs_sampler_thread *thread = hs_sampler__self();
    if (!thread)
        return EAGAIN;
    if (commit)
        thread->active = value != 0;
    return 0;
}

const struct hs_node hs_nodes_thread_prof[HS_THREAD_PROF_NODES] = {
    HS_BOTH("name", HS_TYPE_TEXT, HS_ACCESS_EITHER, HS_NEEDS_PROF, read_name, write_name),
    HS_BOTH("active", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_PROF_TO_WRITE, read_thread_active, write_thread_active),
};

// ---- experimental.hooks ---------------------------------------------------------------------------------------------

// What is read while the program has set no function: it calls this one when it wants more than its own frames.
static void walk(void **frames, unsigned *count, unsigned limit)
{
    *count = (unsigned)hs_backtrace(frames, (int)limit);
}

static uint64_t read_backtrace_hook(const struct hs_call *call)
{
    (void)call;
    if (!is_on())
        return 0;
    return (uintptr_t)(hs_hooks.backtrace ? hs_hooks.backtrace : walk);
}

// Takes the new function of a call; 0 or an errno value.
static int take_hook(const struct hs_call *call, void *hook, size_t size)
{
    if (!is_on())
        return ENOENT;
    if (call->new_length != size)
        return EINVAL;
    __builtin_memcpy(hook, call->new, size);
    return 0;
}

static int run_backtrace_hook(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    void (*hook)(void **, unsigned *, unsigned) = NULL;
    void *before = (void *)(uintptr_t)read_backtrace_hook(call);
    if (!call->old && !call->new)
        return EINVAL;
    int error = hs_node__give(call, &before, sizeof before);
    if (!error && call->new)
        error = take_hook(call, &hook, sizeof hook);
    if (error || !call->new)
        return error;
    if (!hook)
        return EINVAL;
    hs_hooks.backtrace = hook == walk ? NULL : hook;
    return 0;
}

// Functions that may be NULL, of any type.
typedef void *volatile any_hook __attribute__((may_alias));

static int exchange_hook(const struct hs_call *call, any_hook *place)
{
    void *hook = NULL, *before = *place;
    if (!call->old && !call->new)
        return EINVAL;
    int error = hs_node__give(call, &before, sizeof before);
    if (!error && call->new)
        error = take_hook(call, &hook, sizeof hook);
    if (!error && call->new)
        *place = hook;
    return error;
}

#define HOOK(name, variable)                                                                                           \
    static int run_##name##_hook(const struct hs_call *call, uint64_t value, bool commit)                              \
    {                                                                                                                  \
        (void)value, (void)commit;                                                                                     \
        return exchange_hook(call, (any_hook *)&variable);                                                             \
    }
HOOK(dump, hs_dump_hook)
HOOK(sample, hs_hooks.sample)
HOOK(sample_free, hs_hooks.sample_free)

static const struct hs_node hook_nodes[] = {
    HS_ABSENT("install"),
    HS_ABSENT("remove"),
    HS_RUNS("prof_backtrace", HS_TYPE_POINTER, HS_ACCESS_OWN, HS_NEEDS_NOTHING, run_backtrace_hook),
    HS_RUNS("prof_dump", HS_TYPE_POINTER, HS_ACCESS_OWN, HS_NEEDS_NOTHING, run_dump_hook),
    HS_ABSENT("safety_check_abort"),
    HS_RUNS("prof_sample", HS_TYPE_POINTER, HS_ACCESS_OWN, HS_NEEDS_NOTHING, run_sample_hook),
    HS_RUNS("prof_sample_free", HS_TYPE_POINTER, HS_ACCESS_OWN, HS_NEEDS_NOTHING, run_sample_free_hook),
};

// ---- experimental.prof_recent ---------------------------------------------------------------------------------------

static uint64_t read_recent_limit(const struct hs_call *call)
{
    (void)call;
    return (uint64_t)hs_recent__limit();
}

static int write_recent_limit(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    ptrdiff_t limit = (ptrdiff_t)(size_t)value;
    if (limit < -1)
        return EINVAL;
    if (commit)
        hs_recent__set_limit(limit);
    return 0;
}

struct recent_dump {
    void (*write)(void *opaque, const char *text);
    void *opaque;
};

static int run_recent_dump(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    struct recent_dump dump;
    if (call->old || call->old_length)
        return EPERM;
    if (!call->new || call->new_length != sizeof dump)
        return EINVAL;
    __builtin_memcpy(&dump, call->new, sizeof dump);
    hs_recent__print(dump.write, dump.opaque);
    return 0;
}

static const struct hs_node recent_nodes[] = {
    HS_BOTH("alloc_max", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_PROF, read_recent_limit, write_recent_limit),
    HS_RUNS("alloc_dump", HS_TYPE_NONE, HS_ACCESS_OWN, HS_NEEDS_PROF, run_recent_dump),
};

// ---- the rest of experimental: places that keep the numbers right ---------------------------------------------------

static const struct hs_node utilization_nodes[] = {HS_ABSENT("query"), HS_ABSENT("batch_query")};
static const struct hs_node arena_index[] = {HS_INDEX(1, hs_node__is_arena), HS_ABSENT("pactivep")};
static const struct hs_node thread_nodes[] = {HS_ABSENT("activity_callback")};

const struct hs_node hs_nodes_experimental[HS_EXPERIMENTAL_NODES] = {
    HS_BRANCH("hooks", hook_nodes),    HS_BRANCH("utilization", utilization_nodes), HS_BRANCH("arenas", arena_index),
    HS_ABSENT("arenas_create_ext"),    HS_BRANCH("prof_recent", recent_nodes),      HS_ABSENT("batch_alloc"),
    HS_BRANCH("thread", thread_nodes),
};
