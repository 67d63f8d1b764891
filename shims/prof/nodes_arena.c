// SPDX-License-Identifier: MIT OR Apache-2.0
//
// arena.* and arenas.*: arenas are numbers here, which the program makes, sets and destroys. All blocks come from the
// one allocator behind us, are of arena 0, and stay when an arena is destroyed.
#include "runtime/memory.h"
#include "runtime/prof/size_classes.h"
#include "runtime/text.h"
#include "shims/common/real.h"
#include "shims/prof/nodes.h"

#include <errno.h>
#include <stdatomic.h>

enum { BINS = 36, CACHED_BINS = 41, TCACHE_MAX = 32768, LARGE_CLASSES = sizeof(void *) == 8 ? 196 : 68 };

// jemalloc's limit; numbers of dss in hs_nodes_arena, whose index is none, of dirty_decay_ms in hs_nodes_arenas
enum { ARENAS = 4095, FIRST_SETTING = 5, FIRST_DECAY = 1 };

enum setting { DSS, OVERSIZE_THRESHOLD, DIRTY_DECAY, MUZZY_DECAY, EXTENT_HOOKS, RETAIN_GROW_LIMIT, SETTINGS };

// There are no extents: these functions decline what they are asked for, as hooks may.
static void *no_extent(void)
{
    return NULL;
}

static bool decline(void)
{
    return true;
}

// In the order of extent_hooks_t: alloc, dalloc, destroy, commit, decommit, purge_lazy, purge_forced, split, merge.
static void *const default_hooks[] = {(void *)no_extent, (void *)decline, (void *)decline,
                                      (void *)decline,   (void *)decline, (void *)decline,
                                      (void *)decline,   (void *)decline, (void *)decline};

// Not synchronised: if two threads write a value at once, it is one of the two.
struct arena {
    uintptr_t set[SETTINGS];
    atomic_bool destroyed;
};

#define DEFAULTS                                                                                                       \
    {                                                                                                                  \
        {(uintptr_t) "secondary",                                                                                      \
         8388608,                                                                                                      \
         10000,                                                                                                        \
         0,                                                                                                            \
         (uintptr_t)default_hooks,                                                                                     \
         (uintptr_t)7 << (sizeof(uintptr_t) * 8 - 4)},                                                                 \
            false                                                                                                      \
    }

static struct arena new_arena = DEFAULTS; // as the next one begins
static struct arena first = DEFAULTS;
static struct arena *_Atomic made; // ARENAS - 1; mapped with the first of them
static _Atomic uint32_t arena_count = 1;

static uint32_t count_arenas(void)
{
    return atomic_load_explicit(&arena_count, memory_order_acquire);
}

// NULL where there is none, or no longer.
static struct arena *arena_at(size_t index)
{
    if (index == 0)
        return &first;
    if (index >= count_arenas())
        return NULL;
    struct arena *arena = atomic_load(&made) + index - 1;
    return atomic_load_explicit(&arena->destroyed, memory_order_acquire) ? NULL : arena;
}

bool hs_node__is_arena(const struct hs_call *call, size_t index)
{
    (void)call;
    return arena_at(index) || index == HS_ARENAS_ALL || index == HS_ARENAS_DESTROYED;
}

// A destroyed one and the next one are names, too.
static bool may_be_arena(const struct hs_call *call, size_t index)
{
    return index <= count_arenas() || hs_node__is_arena(call, index);
}

static uint64_t is_initialized(const struct hs_call *call)
{
    return hs_node__is_arena(call, call->mib[1]);
}

// ---- thread.arena ---------------------------------------------------------------------------------------------------

static __thread uint32_t thread_arena __attribute__((tls_model("initial-exec")));

uint64_t hs_node__thread_arena(const struct hs_call *call)
{
    (void)call;
    return thread_arena;
}

int hs_node__set_thread_arena(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call;
    if (!arena_at((size_t)value))
        return EFAULT;
    if (commit)
        thread_arena = (uint32_t)value;
    return 0;
}

// ---- arena.<i> ------------------------------------------------------------------------------------------------------

// Gives back what the allocator holds in reserve.
static int give_memory_back(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    int (*trim)(size_t keep);
    *(void **)&trim = hs_real__find("malloc_trim");
    if (trim)
        trim(0);
    return 0;
}

static int refuse(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)call, (void)value, (void)commit;
    return EFAULT;
}

// The number is given out again by arenas.create.
static int destroy_arena(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    size_t index = call->mib[1];
    struct arena *arena = arena_at(index);
    if (!arena || arena == &first || index == thread_arena)
        return EFAULT;
    atomic_store_explicit(&arena->destroyed, true, memory_order_release);
    return 0;
}

static int take_dss(uintptr_t *value)
{
    static const char words[][10] = {"disabled", "primary", "secondary"};
    for (unsigned i = 0; *value && i < sizeof words / sizeof *words; i++)
        if (hs_text__equal((const char *)*value, words[i])) {
            *value = (uintptr_t)words[i];
            return 0;
        }
    return EINVAL;
}

// Rounds a size between two page classes down to the smaller one.
static int take_limit(uintptr_t *value)
{
    size_t page = hs_memory__page_size();
    if (*value + 1 <= page)
        return EFAULT;
    uint32_t index = hs_size_class__index(*value);
    uint64_t size = hs_size_class__at(index);
    *value = (uintptr_t)(size == *value ? size : hs_size_class__at(index - 1)) & ~(page - 1);
    return 0;
}

static int take_setting(enum setting setting, uintptr_t *value)
{
    switch (setting) {
    case DSS:
        return take_dss(value);
    case DIRTY_DECAY:
    case MUZZY_DECAY: // milliseconds from -1
        return (intptr_t)*value < -1 ? EFAULT : 0;
    case RETAIN_GROW_LIMIT:
        return take_limit(value);
    default:
        return 0;
    }
}

static int exchange_setting(const struct hs_call *call, struct arena *arena, enum setting setting)
{
    uintptr_t value = 0;
    int error = 0;
    if (call->new && call->new_length != sizeof value)
        return EINVAL;
    if (call->new) {
        __builtin_memcpy(&value, call->new, sizeof value);
        error = take_setting(setting, &value);
    }
    if (!error)
        error = hs_node__give(call, &arena->set[setting], sizeof value);
    if (!error && call->new)
        arena->set[setting] = value;
    return error;
}

// Behind the last arena, and of all of them, only dss is there: that of new ones.
static int run_setting(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    enum setting setting = (enum setting)(call->mib[2] - FIRST_SETTING);
    struct arena *arena = arena_at(call->mib[1]);
    if (!arena && setting == DSS && (call->mib[1] == count_arenas() || call->mib[1] == HS_ARENAS_ALL))
        arena = &new_arena;
    return arena ? exchange_setting(call, arena, setting) : EFAULT;
}

static uintptr_t *decay_of(const struct hs_call *call)
{
    return &new_arena.set[DIRTY_DECAY + call->mib[1] - FIRST_DECAY];
}

static uint64_t read_decay(const struct hs_call *call)
{
    return *decay_of(call);
}

static int write_decay(const struct hs_call *call, uint64_t value, bool commit)
{
    uintptr_t taken = (uintptr_t)value;
    int error = take_setting(DIRTY_DECAY, &taken);
    if (!error && commit)
        *decay_of(call) = taken;
    return error;
}

#define SETTING(name, type) HS_RUNS(name, type, HS_ACCESS_OWN, HS_NEEDS_NOTHING, run_setting)

enum { ARENA_NODES = 11, BIN_NODES = 4, LARGE_NODES = 1 };

const struct hs_node hs_nodes_arena[1 + ARENA_NODES] = {
    HS_INDEX(ARENA_NODES, may_be_arena),
    HS_READS("initialized", HS_TYPE_BOOL, is_initialized),
    HS_RUNS("decay", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, give_memory_back),
    HS_RUNS("purge", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, give_memory_back),
    HS_RUNS("reset", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, refuse),
    HS_RUNS("destroy", HS_TYPE_NONE, HS_ACCESS_CALL, HS_NEEDS_NOTHING, destroy_arena),
    SETTING("dss", HS_TYPE_TEXT),
    SETTING("oversize_threshold", HS_TYPE_SIZE),
    SETTING("dirty_decay_ms", HS_TYPE_SIZE),
    SETTING("muzzy_decay_ms", HS_TYPE_SIZE),
    SETTING("extent_hooks", HS_TYPE_POINTER),
    SETTING("retain_grow_limit", HS_TYPE_SIZE),
};

// ---- arenas ---------------------------------------------------------------------------------------------------------

static uint64_t read_page(const struct hs_call *call)
{
    (void)call;
    return hs_memory__page_size();
}

static struct arena *map_arenas(void)
{
    struct arena *arenas = atomic_load(&made), *known = NULL;
    if (arenas || !(arenas = hs_memory__map(ARENAS * sizeof *arenas)))
        return arenas;
    if (atomic_compare_exchange_strong(&made, &known, arenas))
        return arenas;
    hs_memory__unmap(arenas, ARENAS * sizeof *arenas);
    return known;
}

// A number that was used before, or the next one; 0: there are too many.
static uint32_t find_number(struct arena *arenas)
{
    uint32_t count = count_arenas();
    for (uint32_t i = 1; arenas && i < count; i++)
        if (atomic_exchange(&arenas[i - 1].destroyed, false))
            return i;
    while (arenas && count < ARENAS)
        if (atomic_compare_exchange_weak(&arena_count, &count, count + 1))
            return count;
    return 0;
}

static int create_arena(const struct hs_call *call, uint64_t value, bool commit)
{
    (void)value, (void)commit;
    uintptr_t hooks = (uintptr_t)default_hooks;
    if (!hs_node__has_room(call, sizeof(uint32_t)) || (call->new && call->new_length != sizeof hooks))
        return EINVAL;
    if (call->new)
        __builtin_memcpy(&hooks, call->new, sizeof hooks);
    struct arena *arenas = map_arenas();
    uint32_t number = find_number(arenas);
    if (!number)
        return EAGAIN;
    struct arena *arena = &arenas[number - 1];
    __builtin_memcpy(arena->set, new_arena.set, sizeof arena->set);
    arena->set[EXTENT_HOOKS] = hooks;
    return hs_node__give(call, &number, sizeof number);
}

static uint64_t read_arena_count(const struct hs_call *call)
{
    (void)call;
    return count_arenas();
}

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

static const struct hs_node bin_index[1 + BIN_NODES] = {
    HS_INDEX(BIN_NODES, is_bin),
    HS_READS("size", HS_TYPE_SIZE, read_bin_size),
    HS_READS("nregs", HS_TYPE_UNSIGNED, read_regions),
    HS_READS("slab_size", HS_TYPE_SIZE, read_slab_size),
    HS_NUMBER("nshards", HS_TYPE_UNSIGNED, 1),
};
static const struct hs_node large_index[1 + LARGE_NODES] = {
    HS_INDEX(LARGE_NODES, is_large),
    HS_READS("size", HS_TYPE_SIZE, read_large_size),
};
const struct hs_node hs_nodes_arenas[HS_ARENAS_NODES] = {
    HS_READS("narenas", HS_TYPE_UNSIGNED, read_arena_count),
    HS_BOTH("dirty_decay_ms", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_decay, write_decay),
    HS_BOTH("muzzy_decay_ms", HS_TYPE_SIZE, HS_ACCESS_BOTH, HS_NEEDS_NOTHING, read_decay, write_decay),
    HS_NUMBER("quantum", HS_TYPE_SIZE, 16),
    HS_READS("page", HS_TYPE_SIZE, read_page),
    HS_NUMBER("tcache_max", HS_TYPE_SIZE, TCACHE_MAX),
    HS_NUMBER("nbins", HS_TYPE_UNSIGNED, BINS),
    HS_NUMBER("nhbins", HS_TYPE_UNSIGNED, CACHED_BINS),
    HS_BRANCH("bin", bin_index),
    HS_NUMBER("nlextents", HS_TYPE_UNSIGNED, LARGE_CLASSES),
    HS_BRANCH("lextent", large_index),
    HS_RUNS("create", HS_TYPE_UNSIGNED, HS_ACCESS_OWN, HS_NEEDS_NOTHING, create_arena),
    HS_RUNS("lookup", HS_TYPE_UNSIGNED, HS_ACCESS_OWN, HS_NEEDS_NOTHING, look_up),
};
