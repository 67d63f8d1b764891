// SPDX-License-Identifier: MIT OR Apache-2.0
//
// stats.*: what the sampler's counters and the kernel know of the whole process. The insides of the allocator are not
// known; they read 0.
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/prof/sampler.h"
#include "runtime/text.h"
#include "shims/prof/hooks.h"
#include "shims/prof/nodes.h"

#include "arch/system.h"

// ---- values ---------------------------------------------------------------------------------------------------------

static struct hs_lock lock;
static struct hs_statistics_values values;

static size_t limited(uint64_t number)
{
    return number > SIZE_MAX ? SIZE_MAX : (size_t)number;
}

// /proc/self/statm: pages mapped, resident, shared, of code, 0, of data.
static void read_kernel(struct hs_statistics_values *now)
{
    char text[256];
    const char *at = text;
    uint64_t fields[6] = {0}, page = hs_memory__page_size();
    hs_text__read_own("/proc/thread-self/statm", "/proc/self/statm", text, sizeof text);
    for (unsigned i = 0; i < 6; i++) {
        fields[i] = hs_text__parse(&at, 10);
        at += *at == ' ';
    }
    now->resident = limited(fields[1] * page);
    now->mapped = limited(fields[5] * page);
}

// Allocated <= active <= resident <= mapped, which programs take differences of.
static void read_all(struct hs_statistics_values *now)
{
    size_t page = hs_memory__page_size();
    read_kernel(now);
    now->total_deallocated = hs_sampler__total_deallocated();
    now->total_allocated = hs_sampler__total_allocated();
    uint64_t live = now->total_allocated > now->total_deallocated ? now->total_allocated - now->total_deallocated : 0;
    now->allocated = limited(live);
    now->active = (now->allocated + page - 1) & ~(page - 1);
    if (now->resident < now->active)
        now->resident = now->active;
    if (now->mapped < now->resident)
        now->mapped = now->resident;
}

static void refresh(void)
{
    struct hs_statistics_values now = {.epoch = values.epoch + 1};
    read_all(&now);
    values = now;
}

void hs_statistics__refresh(void)
{
    if (!hs_lock__acquire(&lock, (uint32_t)hs_system_gettid()))
        return;
    refresh();
    hs_lock__release(&lock);
}

struct hs_statistics_values hs_statistics__values(void)
{
    struct hs_statistics_values copy = {0};
    if (!hs_lock__acquire(&lock, (uint32_t)hs_system_gettid()))
        return copy;
    if (!values.epoch)
        refresh();
    copy = values;
    hs_lock__release(&lock);
    return copy;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

#define STATISTIC(name)                                                                                                \
    static uint64_t read_##name(const struct hs_call *call)                                                            \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return hs_statistics__values().name;                                                                           \
    }
STATISTIC(allocated)
STATISTIC(active)
STATISTIC(resident)
STATISTIC(mapped)

static uint64_t read_zero_reallocs(const struct hs_call *call)
{
    (void)call;
    return hs_prof_zero_reallocs;
}

static uint64_t read_active_pages(const struct hs_call *call)
{
    return read_active(call) / hs_memory__page_size();
}

static uint64_t read_dss(const struct hs_call *call)
{
    (void)call;
    return (uintptr_t) "secondary";
}

static uint64_t read_dirty_decay(const struct hs_call *call)
{
    (void)call;
    return 10000;
}

static uint64_t read_threads(const struct hs_call *call)
{
    (void)call;
    uint32_t threads = 0;
    for (uint32_t i = 1; i <= hs_sampler__thread_count(); i++)
        threads += hs_sampler__thread_at(i)->tid && !hs_sampler__thread_at(i)->gone;
    return threads;
}

#define ZERO(name, type) HS_NUMBER(name, type, 0)

static const struct hs_node mutex_nodes[] = {
    ZERO("num_ops", HS_TYPE_64),
    ZERO("num_wait", HS_TYPE_64),
    ZERO("num_spin_acq", HS_TYPE_64),
    ZERO("num_owner_switch", HS_TYPE_64),
    ZERO("total_wait_time", HS_TYPE_64),
    ZERO("max_wait_time", HS_TYPE_64),
    ZERO("max_num_thds", HS_TYPE_UNSIGNED),
};

static int reset_mutexes(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    return 0;
}

// One behind another that has the table.
#define MUTEX(name) HS_FAR_BRANCH(name, NULL, HS_NODE_COUNT(mutex_nodes))

static const struct hs_node global_mutex_nodes[] = {
    HS_BRANCH("background_thread", mutex_nodes),
    MUTEX("max_per_bg_thd"),
    MUTEX("ctl"),
    MUTEX("prof"),
    MUTEX("prof_thds_data"),
    MUTEX("prof_dump"),
    MUTEX("prof_recent_alloc"),
    MUTEX("prof_recent_dump"),
    MUTEX("prof_stats"),
    HS_RUNS("reset", HS_TYPE_NONE, HS_ACCESS_UNCHECKED, HS_NEEDS_NOTHING, reset_mutexes),
};

static const struct hs_node arena_mutex_nodes[] = {
    HS_BRANCH("large", mutex_nodes),
    MUTEX("extent_avail"),
    MUTEX("extents_dirty"),
    MUTEX("extents_muzzy"),
    MUTEX("extents_retained"),
    MUTEX("decay_dirty"),
    MUTEX("decay_muzzy"),
    MUTEX("base"),
    MUTEX("tcache_list"),
    MUTEX("hpa_shard"),
    MUTEX("hpa_shard_grow"),
    MUTEX("hpa_sec"),
};

// All is counted as large: that what is small and large add up is what programs rely on.
static const struct hs_node small_nodes[] = {
    ZERO("allocated", HS_TYPE_SIZE), ZERO("nmalloc", HS_TYPE_64), ZERO("ndalloc", HS_TYPE_64),
    ZERO("nrequests", HS_TYPE_64),   ZERO("nfills", HS_TYPE_64),  ZERO("nflushes", HS_TYPE_64),
};
static const struct hs_node large_nodes[] = {
    HS_READS("allocated", HS_TYPE_SIZE, read_allocated),
    ZERO("nmalloc", HS_TYPE_64),
    ZERO("ndalloc", HS_TYPE_64),
    ZERO("nrequests", HS_TYPE_64),
    ZERO("nfills", HS_TYPE_64),
    ZERO("nflushes", HS_TYPE_64),
};

static bool is_bin(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < 36;
}

static bool is_large_class(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < (sizeof(void *) == 8 ? 196 : 68);
}

static bool is_page_class(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < (sizeof(void *) == 8 ? 199 : 71);
}

static bool is_slab_class(const struct hs_call *call, size_t index)
{
    (void)call;
    return index < 64;
}

enum { BIN_NODES = 11, LARGE_CLASS_NODES = 4, EXTENT_NODES = 6, SLAB_NODES = 6, ARENA_NODES = 32 };

static const struct hs_node bin_index[1 + BIN_NODES] = {
    HS_INDEX(BIN_NODES, is_bin),    ZERO("nmalloc", HS_TYPE_64),         ZERO("ndalloc", HS_TYPE_64),
    ZERO("nrequests", HS_TYPE_64),  ZERO("curregs", HS_TYPE_SIZE),       ZERO("nfills", HS_TYPE_64),
    ZERO("nflushes", HS_TYPE_64),   ZERO("nslabs", HS_TYPE_64),          ZERO("nreslabs", HS_TYPE_64),
    ZERO("curslabs", HS_TYPE_SIZE), ZERO("nonfull_slabs", HS_TYPE_SIZE), HS_BRANCH("mutex", mutex_nodes),
};
static const struct hs_node large_class_index[1 + LARGE_CLASS_NODES] = {
    HS_INDEX(LARGE_CLASS_NODES, is_large_class),
    ZERO("nmalloc", HS_TYPE_64),
    ZERO("ndalloc", HS_TYPE_64),
    ZERO("nrequests", HS_TYPE_64),
    ZERO("curlextents", HS_TYPE_SIZE),
};
static const struct hs_node extent_index[1 + EXTENT_NODES] = {
    HS_INDEX(EXTENT_NODES, is_page_class), ZERO("ndirty", HS_TYPE_SIZE),      ZERO("nmuzzy", HS_TYPE_SIZE),
    ZERO("nretained", HS_TYPE_SIZE),       ZERO("dirty_bytes", HS_TYPE_SIZE), ZERO("muzzy_bytes", HS_TYPE_SIZE),
    ZERO("retained_bytes", HS_TYPE_SIZE),
};
static const struct hs_node slab_index[1 + SLAB_NODES] = {
    HS_INDEX(SLAB_NODES, is_slab_class),   ZERO("npageslabs_nonhuge", HS_TYPE_SIZE),
    ZERO("npageslabs_huge", HS_TYPE_SIZE), ZERO("nactive_nonhuge", HS_TYPE_SIZE),
    ZERO("nactive_huge", HS_TYPE_SIZE),    ZERO("ndirty_nonhuge", HS_TYPE_SIZE),
    ZERO("ndirty_huge", HS_TYPE_SIZE),
};
static const struct hs_node shard_nodes[] = {
    HS_FAR_BRANCH("full_slabs", slab_index + 1, SLAB_NODES),
    HS_FAR_BRANCH("empty_slabs", NULL, SLAB_NODES),
    HS_BRANCH("nonfull_slabs", slab_index),
    ZERO("npurge_passes", HS_TYPE_64),
    ZERO("npurges", HS_TYPE_64),
    ZERO("nhugifies", HS_TYPE_64),
    ZERO("ndehugifies", HS_TYPE_64),
};

static const struct hs_node arena_index[1 + ARENA_NODES] = {
    HS_INDEX(ARENA_NODES, hs_node__is_arena),
    HS_READS("nthreads", HS_TYPE_UNSIGNED, read_threads),
    ZERO("uptime", HS_TYPE_64),
    HS_READS("dss", HS_TYPE_TEXT, read_dss),
    HS_READS("dirty_decay_ms", HS_TYPE_SIZE, read_dirty_decay),
    ZERO("muzzy_decay_ms", HS_TYPE_SIZE),
    HS_READS("pactive", HS_TYPE_SIZE, read_active_pages),
    ZERO("pdirty", HS_TYPE_SIZE),
    ZERO("pmuzzy", HS_TYPE_SIZE),
    HS_READS("mapped", HS_TYPE_SIZE, read_mapped),
    ZERO("retained", HS_TYPE_SIZE),
    ZERO("extent_avail", HS_TYPE_SIZE),
    ZERO("dirty_npurge", HS_TYPE_64),
    ZERO("dirty_nmadvise", HS_TYPE_64),
    ZERO("dirty_purged", HS_TYPE_64),
    ZERO("muzzy_npurge", HS_TYPE_64),
    ZERO("muzzy_nmadvise", HS_TYPE_64),
    ZERO("muzzy_purged", HS_TYPE_64),
    ZERO("base", HS_TYPE_SIZE),
    ZERO("internal", HS_TYPE_SIZE),
    ZERO("metadata_thp", HS_TYPE_SIZE),
    ZERO("tcache_bytes", HS_TYPE_SIZE),
    ZERO("tcache_stashed_bytes", HS_TYPE_SIZE),
    HS_READS("resident", HS_TYPE_SIZE, read_resident),
    ZERO("abandoned_vm", HS_TYPE_SIZE),
    ZERO("hpa_sec_bytes", HS_TYPE_SIZE),
    HS_BRANCH("small", small_nodes),
    HS_BRANCH("large", large_nodes),
    HS_BRANCH("bins", bin_index),
    HS_BRANCH("lextents", large_class_index),
    HS_BRANCH("extents", extent_index),
    HS_BRANCH("mutexes", arena_mutex_nodes),
    HS_BRANCH("hpa_shard", shard_nodes),
};

static const struct hs_node background_thread_nodes[] = {
    ZERO("num_threads", HS_TYPE_SIZE),
    ZERO("num_runs", HS_TYPE_64),
    ZERO("run_interval", HS_TYPE_64),
};

const struct hs_node hs_nodes_stats[HS_STATS_NODES] = {
    HS_READS("allocated", HS_TYPE_SIZE, read_allocated),
    HS_READS("active", HS_TYPE_SIZE, read_active),
    ZERO("metadata", HS_TYPE_SIZE),
    ZERO("metadata_thp", HS_TYPE_SIZE),
    HS_READS("resident", HS_TYPE_SIZE, read_resident),
    HS_READS("mapped", HS_TYPE_SIZE, read_mapped),
    ZERO("retained", HS_TYPE_SIZE),
    HS_BRANCH("background_thread", background_thread_nodes),
    HS_BRANCH("mutexes", global_mutex_nodes),
    HS_BRANCH("arenas", arena_index),
    HS_READS("zero_reallocs", HS_TYPE_SIZE, read_zero_reallocs),
};
