// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The nodes that are not the profiler's: who reads them gets an answer that fits a program with one arena, whose
// insides are unknown. What may be set is remembered, and read back.
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

enum { BINS = 36, CACHED_BINS = 41, TCACHE_MAX = 32768, LARGE_CLASSES = sizeof(void *) == 8 ? 196 : 68 };

#define TRUE_VALUE  ((const void *)&always)
#define FALSE_VALUE ((const void *)&never)
static const bool always = true, never = false;

// What programs set. Plain words: who writes them from two threads at once gets one of the two.
static struct {
    bool background_thread;
    size_t background_threads;
    uint32_t arenas; // made with arenas.create
    uint32_t caches; // made with tcache.create
    size_t dirty_decay_ms, muzzy_decay_ms, oversize_threshold, retain_grow_limit;
    uintptr_t extent_hooks;
    uintptr_t dss;
} set = {
    .background_threads = 4,
    .arenas = 1,
    .dirty_decay_ms = 10000,
    .oversize_threshold = 8388608,
    .retain_grow_limit = (size_t)7 << (sizeof(size_t) * 8 - 4),
    .dss = (uintptr_t) "secondary",
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
REMEMBERED(oversize_threshold, oversize_threshold)
REMEMBERED(retain_grow_limit, retain_grow_limit)
REMEMBERED(extent_hooks, extent_hooks)

// Milliseconds from -1.
#define DECAY(name, field)                                                                                             \
    static uint64_t read_##name(const struct hs_call *call)                                                            \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return set.field;                                                                                              \
    }                                                                                                                  \
    static int write_##name(const struct hs_call *call, uint64_t value, bool commit)                                   \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        if ((ptrdiff_t)(size_t)value < -1)                                                                             \
            return EFAULT;                                                                                             \
        if (commit)                                                                                                    \
            set.field = (size_t)value;                                                                                 \
        return 0;                                                                                                      \
    }
DECAY(dirty_decay, dirty_decay_ms)
DECAY(muzzy_decay, muzzy_decay_ms)

static int do_nothing(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    return 0;
}

// Gives back what the allocator holds in reserve.
static int give_memory_back(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    static int (*trim)(size_t keep);
    static bool known;
    if (!known) {
        *(void **)&trim = hs_real__find("malloc_trim");
        known = true;
    }
    if (trim)
        trim(0);
    return 0;
}

static int refuse(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    return EFAULT;
}

uint64_t hs_node__page(const struct hs_call *call)
{
    (void)call;
    return hs_memory__page_size();
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

static int write_thread_arena(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)commit;
    return value < set.arenas ? 0 : EFAULT;
}

static const struct hs_node thread_cache_nodes[] = {
    HS_LEAF("enabled", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_cache_enabled, write_cache_enabled),
    HS_LEAF("flush", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, do_nothing),
};
static const struct hs_node peak_nodes[] = {
    HS_READS("read", HS_TYPE_64, read_peak),
    HS_LEAF("reset", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, reset_peak),
};
static const struct hs_node thread_nodes[] = {
    HS_LEAF("arena", HS_TYPE_UNSIGNED, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, hs_node__zero, write_thread_arena),
    HS_READS("allocated", HS_TYPE_64, read_allocated),
    HS_READS("allocatedp", HS_TYPE_POINTER, read_allocated_pointer),
    HS_READS("deallocated", HS_TYPE_64, read_deallocated),
    HS_READS("deallocatedp", HS_TYPE_POINTER, read_deallocated_pointer),
    HS_BRANCH("tcache", thread_cache_nodes),
    HS_BRANCH("peak", peak_nodes),
    {"prof",
     HS_TYPE_NONE,
     HS_ACCESS_BRANCH,
     HS_THREAD_PROF_NODES,
     HS_NEEDS_NOTHING,
     {.children = hs_nodes_thread_prof},
     {0}},
    HS_LEAF("idle", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, do_nothing),
};

// ---- config ---------------------------------------------------------------------------------------------------------

// What is there: profiling and statistics. The walker is neither libgcc's nor libunwind's.
static const struct hs_node config_nodes[] = {
    HS_VALUE("cache_oblivious", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("debug", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("fill", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("lazy_lock", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("malloc_conf", HS_TYPE_TEXT, ""),
    HS_VALUE("opt_safety_checks", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("prof", HS_TYPE_BOOL, TRUE_VALUE),
    HS_VALUE("prof_libgcc", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("prof_libunwind", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("stats", HS_TYPE_BOOL, TRUE_VALUE),
    HS_VALUE("utrace", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("xmalloc", HS_TYPE_BOOL, FALSE_VALUE),
    HS_VALUE("prof_frameptr", HS_TYPE_BOOL, FALSE_VALUE),
};

// ---- tcache, arena --------------------------------------------------------------------------------------------------

// A read that has to be one.
static int give_new_number(const struct hs_call *call, uint32_t *counter)
{
    if (!call->old || !call->old_length || *call->old_length != sizeof(uint32_t)) {
        if (call->old_length)
            *call->old_length = 0;
        return EINVAL;
    }
    uint32_t number = __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    return hs_node__give(call, &number, sizeof number);
}

static int create_cache(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    return call->new || call->new_length ? EPERM : give_new_number(call, &set.caches);
}

static int create_arena(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    return give_new_number(call, &set.arenas);
}

static int name_cache(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)commit;
    return call->new &&value < set.caches ? 0 : EINVAL;
}

static const struct hs_node cache_nodes[] = {
    HS_LEAF("create", HS_TYPE_UNSIGNED, HS_ACCESS_OWN, HS_NEEDS_NOTHING, NULL, create_cache),
    HS_LEAF("flush", HS_TYPE_UNSIGNED, HS_ACCESS_WRITE, HS_NEEDS_NOTHING, NULL, name_cache),
    HS_LEAF("destroy", HS_TYPE_UNSIGNED, HS_ACCESS_WRITE, HS_NEEDS_NOTHING, NULL, name_cache),
};

bool hs_node__is_arena(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < set.arenas || index == HS_ARENAS_ALL || index == HS_ARENAS_DESTROYED;
}

// One more than there are is a name, too.
static bool may_be_arena(const struct hs_call *call, size_t index)
{
    return index == set.arenas || hs_node__is_arena(call, index);
}

static uint64_t is_initialized(const struct hs_call *call)
{
    return call->mib[1] < set.arenas || call->mib[1] >= HS_ARENAS_ALL;
}

static uint64_t read_dss(const struct hs_call *call)
{
    (void)call;
    return set.dss;
}

static int write_dss(const struct hs_call *call, uint64_t value, bool commit)
{
    static const char *const words[] = {"disabled", "primary", "secondary"};
    (void)call;
    for (unsigned i = 0; value && i < sizeof words / sizeof *words; i++)
        if (hs_text__equal((const char *)(uintptr_t)value, words[i])) {
            if (commit)
                set.dss = (uintptr_t)words[i];
            return 0;
        }
    return EINVAL;
}

static const struct hs_node arena_nodes[] = {
    HS_READS("initialized", HS_TYPE_BOOL, is_initialized),
    HS_LEAF("decay", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, give_memory_back),
    HS_LEAF("purge", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, give_memory_back),
    HS_LEAF("reset", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, refuse),
    HS_LEAF("destroy", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, NULL, refuse),
    HS_LEAF("dss", HS_TYPE_TEXT, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_dss, write_dss),
    HS_LEAF("oversize_threshold", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_oversize_threshold,
            write_oversize_threshold),
    HS_LEAF("dirty_decay_ms", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_dirty_decay, write_dirty_decay),
    HS_LEAF("muzzy_decay_ms", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_muzzy_decay, write_muzzy_decay),
    HS_LEAF("extent_hooks", HS_TYPE_POINTER, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_extent_hooks, write_extent_hooks),
    HS_LEAF("retain_grow_limit", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_retain_grow_limit,
            write_retain_grow_limit),
};
static const struct hs_node arena_index[] = {HS_INDEX(arena_nodes, may_be_arena)};

// ---- arenas ---------------------------------------------------------------------------------------------------------

static uint64_t read_arena_count(const struct hs_call *call)
{
    (void)call;
    return set.arenas;
}

#define CONSTANT(name, value)                                                                                          \
    static uint64_t name(const struct hs_call *call)                                                                   \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return value;                                                                                                  \
    }
CONSTANT(read_quantum, 16)
CONSTANT(read_bins, BINS)
CONSTANT(read_cached_bins, CACHED_BINS)
CONSTANT(read_tcache_max, TCACHE_MAX)
CONSTANT(read_large_classes, LARGE_CLASSES)
CONSTANT(read_one, 1)

static uint64_t read_bin_size(const struct hs_call *call)
{
    return hs_size_class__at((uint32_t)call->mib[2]);
}

// The smallest number of pages that regions fill without rest.
static uint64_t read_slab_size(const struct hs_call *call)
{
    uint64_t region = read_bin_size(call), slab = hs_memory__page_size();
    while (slab % region)
        slab += hs_memory__page_size();
    return slab;
}

static uint64_t read_regions(const struct hs_call *call)
{
    return read_slab_size(call) / read_bin_size(call);
}

static uint64_t read_large_size(const struct hs_call *call)
{
    return hs_size_class__at(BINS + (uint32_t)call->mib[2]);
}

static bool is_bin(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < BINS;
}

static bool is_large(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < LARGE_CLASSES;
}

// Every block is of arena 0.
static int look_up(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    const void *block = NULL;
    uint32_t arena = 0;
    if (call->new && call->new_length == sizeof block)
        __builtin_memcpy(&block, call->new, sizeof block);
    return block ? hs_node__give(call, &arena, sizeof arena) : EINVAL;
}

static const struct hs_node bin_nodes[] = {
    HS_READS("size", HS_TYPE_SIZE, read_bin_size),
    HS_READS("nregs", HS_TYPE_UNSIGNED, read_regions),
    HS_READS("slab_size", HS_TYPE_SIZE, read_slab_size),
    HS_READS("nshards", HS_TYPE_UNSIGNED, read_one),
};
static const struct hs_node bin_index[] = {HS_INDEX(bin_nodes, is_bin)};
static const struct hs_node large_nodes[] = {HS_READS("size", HS_TYPE_SIZE, read_large_size)};
static const struct hs_node large_index[] = {HS_INDEX(large_nodes, is_large)};
static const struct hs_node arenas_nodes[] = {
    HS_READS("narenas", HS_TYPE_UNSIGNED, read_arena_count),
    HS_LEAF("dirty_decay_ms", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_dirty_decay, write_dirty_decay),
    HS_LEAF("muzzy_decay_ms", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_muzzy_decay, write_muzzy_decay),
    HS_READS("quantum", HS_TYPE_SIZE, read_quantum),
    HS_READS("page", HS_TYPE_SIZE, hs_node__page),
    HS_READS("tcache_max", HS_TYPE_SIZE, read_tcache_max),
    HS_READS("nbins", HS_TYPE_UNSIGNED, read_bins),
    HS_READS("nhbins", HS_TYPE_UNSIGNED, read_cached_bins),
    HS_BRANCH("bin", bin_index),
    HS_READS("nlextents", HS_TYPE_UNSIGNED, read_large_classes),
    HS_BRANCH("lextent", large_index),
    HS_LEAF("create", HS_TYPE_UNSIGNED, HS_ACCESS_OWN, HS_NEEDS_NOTHING, NULL, create_arena),
    HS_LEAF("lookup", HS_TYPE_UNSIGNED, HS_ACCESS_OWN, HS_NEEDS_NOTHING, NULL, look_up),
};

// ---- the root -------------------------------------------------------------------------------------------------------

static const struct hs_node root_nodes[] = {
    // Programs compare it with numbers of jemalloc.
    HS_VALUE("version", HS_TYPE_TEXT, "5.3.0-0-gheapsonde-" HEAPSONDE_VERSION),
    HS_LEAF("epoch", HS_TYPE_64, HS_ACCESS_OWN, HS_NEEDS_NOTHING, NULL, run_epoch),
    HS_LEAF("background_thread", HS_TYPE_BOOL, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_background_thread,
            write_background_thread),
    HS_LEAF("max_background_threads", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_background_threads,
            write_background_threads),
    HS_BRANCH("thread", thread_nodes),
    HS_BRANCH("config", config_nodes),
    {"opt", HS_TYPE_NONE, HS_ACCESS_BRANCH, HS_OPT_NODES, HS_NEEDS_NOTHING, {.children = hs_nodes_opt}, {0}},
    HS_BRANCH("tcache", cache_nodes),
    HS_BRANCH("arena", arena_index),
    HS_BRANCH("arenas", arenas_nodes),
    {"prof", HS_TYPE_NONE, HS_ACCESS_BRANCH, HS_PROF_NODES, HS_NEEDS_NOTHING, {.children = hs_nodes_prof}, {0}},
    {"stats", HS_TYPE_NONE, HS_ACCESS_BRANCH, HS_STATS_NODES, HS_NEEDS_NOTHING, {.children = hs_nodes_stats}, {0}},
    {"experimental",
     HS_TYPE_NONE,
     HS_ACCESS_BRANCH,
     HS_EXPERIMENTAL_NODES,
     HS_NEEDS_NOTHING,
     {.children = hs_nodes_experimental},
     {0}},
};

const struct hs_node hs_nodes_root = HS_BRANCH("", root_nodes);
