// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The nodes that have nothing to do with the profiler. Reads get the answers of a program with one arena about which
// nothing else is known. Values that may be set are remembered, and read back.
#include "shims/prof/nodes.h"

#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/prof/options.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/size_classes.h"
#include "runtime/text.h"
#include "shims/common/real.h"

#include <errno.h>
#include <unistd.h>

// Values that programs set. Plain words: if two threads write one at once, it gets one of the two values.
static struct {
    bool background_thread;
    size_t background_threads;
    uint32_t caches; // made with tcache.create
} set = {
    .background_threads = 4,
};

// Remembers a value that every value may replace.
#define REMEMBERED(name, field)                                                                                        \
    static uint64_t read_##name(const struct hs_call *call)                                                            \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return set.field;                                                                                              \
    }                                                                                                                  \
    static int write_##name(const struct hs_call *call, uint64_t value, bool commit)                                   \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        if (commit)                                                                                                    \
            set.field = (__typeof__(set.field))value;                                                                  \
        return 0;                                                                                                      \
    }
REMEMBERED(background_thread, background_thread)
REMEMBERED(background_threads, background_threads)

static int do_nothing(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    return 0;
}

// ---- epoch ----------------------------------------------------------------------------------------------------------

static uint64_t read_epoch(const struct hs_call *call)
{
    (void)call;
    return hs_statistics__values().epoch;
}

static int run_epoch(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    if (call->new && call->new_length != sizeof(uint64_t))
        return EINVAL;
    if (call->new)
        hs_statistics__refresh();
    uint64_t epoch = read_epoch(call);
    return hs_node__give(call, &epoch, sizeof epoch);
}

// ---- thread ---------------------------------------------------------------------------------------------------------

// The counters of threads that have no record for lack of memory.
static struct hs_sampler_thread nobody;

static struct hs_sampler_thread *self(void)
{
    struct hs_sampler_thread *thread = hs_sampler__self();
    return thread ? thread : &nobody;
}

#define READ_SELF(name, value)                                                                                         \
    static uint64_t name(const struct hs_call *call)                                                                   \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return value;                                                                                                  \
    }
READ_SELF(read_allocated, self()->allocated)
READ_SELF(read_allocated_pointer, (uintptr_t)&self()->allocated)
READ_SELF(read_deallocated, self()->deallocated)
READ_SELF(read_deallocated_pointer, (uintptr_t)&self()->deallocated)
#undef READ_SELF

// The most that the thread had more than at the last reset, as far as the sampler or a call of this saw it.
static uint64_t read_peak(const struct hs_call *call)
{
    (void)call;
    struct hs_sampler_thread *thread = self();
    int64_t now = (int64_t)(thread->allocated - thread->deallocated - thread->peak_base);
    if (now > (int64_t)thread->peak_highest)
        thread->peak_highest = (uint64_t)now;
    return thread->peak_highest;
}

static int reset_peak(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    struct hs_sampler_thread *thread = self();
    thread->peak_base = thread->allocated - thread->deallocated;
    thread->peak_highest = 0;
    atomic_store_explicit(&hs_sampler.peaks, true, memory_order_relaxed);
    thread->next = 0; // the sampler comes by, and from then on often
    return 0;
}

static __thread bool cache_disabled __attribute__((tls_model("initial-exec")));

static uint64_t read_cache_enabled(const struct hs_call *call)
{
    (void)call;
    return !cache_disabled;
}

static int write_cache_enabled(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    if (commit)
        cache_disabled = !value;
    return 0;
}

static const struct hs_node thread_cache_nodes[] = {
    HS_BOTH("enabled", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_cache_enabled, write_cache_enabled),
    HS_RUNS("flush", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, do_nothing),
};
static const struct hs_node peak_nodes[] = {
    HS_READS("read", HS_TYPE_64, read_peak),
    HS_RUNS("reset", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, reset_peak),
};
static const struct hs_node thread_nodes[] = {
    HS_BOTH("arena", HS_TYPE_UNSIGNED, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, hs_node__thread_arena,
            hs_node__set_thread_arena),
    HS_READS("allocated", HS_TYPE_64, read_allocated),
    HS_READS("allocatedp", HS_TYPE_POINTER, read_allocated_pointer),
    HS_READS("deallocated", HS_TYPE_64, read_deallocated),
    HS_READS("deallocatedp", HS_TYPE_POINTER, read_deallocated_pointer),
    HS_BRANCH("tcache", thread_cache_nodes),
    HS_BRANCH("peak", peak_nodes),
    HS_FAR_BRANCH("prof", hs_nodes_thread_prof, HS_THREAD_PROF_NODES),
    HS_RUNS("idle", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, do_nothing),
};

// ---- config ---------------------------------------------------------------------------------------------------------

// The configuration: profiling and statistics. The unwinder is neither libgcc's nor libunwind's.
static const struct hs_node config_nodes[] = {
    HS_NUMBER("cache_oblivious", HS_TYPE_BOOL, false),
    HS_NUMBER("debug", HS_TYPE_BOOL, false),
    HS_NUMBER("fill", HS_TYPE_BOOL, false),
    HS_NUMBER("lazy_lock", HS_TYPE_BOOL, false),
    HS_VALUE("malloc_conf", HS_TYPE_TEXT, ""),
    HS_NUMBER("opt_safety_checks", HS_TYPE_BOOL, false),
    HS_NUMBER("prof", HS_TYPE_BOOL, true),
    HS_NUMBER("prof_libgcc", HS_TYPE_BOOL, false),
    HS_NUMBER("prof_libunwind", HS_TYPE_BOOL, false),
    HS_NUMBER("stats", HS_TYPE_BOOL, true),
    HS_NUMBER("utrace", HS_TYPE_BOOL, false),
    HS_NUMBER("xmalloc", HS_TYPE_BOOL, false),
    HS_NUMBER("prof_frameptr", HS_TYPE_BOOL, false),
};

// ---- tcache ---------------------------------------------------------------------------------------------------------

static int create_cache(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    if (call->new || call->new_length)
        return EPERM;
    if (!hs_node__has_room(call, sizeof set.caches))
        return EINVAL;
    uint32_t number = __atomic_fetch_add(&set.caches, 1, __ATOMIC_RELAXED);
    return hs_node__give(call, &number, sizeof number);
}

static int name_cache(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)commit;
    return call->new &&value < set.caches ? 0 : EINVAL;
}

static const struct hs_node cache_nodes[] = {
    HS_RUNS("create", HS_TYPE_UNSIGNED, HS_ACCESS_OWN, HS_NEEDS_NOTHING, create_cache),
    HS_RUNS("flush", HS_TYPE_UNSIGNED, HS_ACCESS_WRITE, HS_NEEDS_NOTHING, name_cache),
    HS_RUNS("destroy", HS_TYPE_UNSIGNED, HS_ACCESS_WRITE, HS_NEEDS_NOTHING, name_cache),
};

// ---- the root -------------------------------------------------------------------------------------------------------

static const struct hs_node root_nodes[] = {
    // Programs compare it with numbers of jemalloc.
    HS_VALUE("version", HS_TYPE_TEXT, "5.3.0-0-gheapsonde-" HEAPSONDE_VERSION),
    HS_RUNS("epoch", HS_TYPE_64, HS_ACCESS_OWN, HS_NEEDS_NOTHING, run_epoch),
    HS_BOTH("background_thread", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_background_thread,
            write_background_thread),
    HS_BOTH("max_background_threads", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_background_threads,
            write_background_threads),
    HS_BRANCH("thread", thread_nodes),
    HS_BRANCH("config", config_nodes),
    HS_FAR_BRANCH("opt", hs_nodes_opt, HS_OPT_NODES),
    HS_BRANCH("tcache", cache_nodes),
    HS_FAR_BRANCH("arena", hs_nodes_arena, 1),
    HS_FAR_BRANCH("arenas", hs_nodes_arenas, HS_ARENAS_NODES),
    HS_FAR_BRANCH("prof", hs_nodes_prof, HS_PROF_NODES),
    HS_FAR_BRANCH("stats", hs_nodes_stats, HS_STATS_NODES),
    HS_FAR_BRANCH("experimental", hs_nodes_experimental, HS_EXPERIMENTAL_NODES),
};

const struct hs_node hs_nodes_root = HS_BRANCH("", root_nodes);
