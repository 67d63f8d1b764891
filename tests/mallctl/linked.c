// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program of jemalloc's: it includes jemalloc's header, is linked with jemalloc's library, has a malloc_conf of its
// own, sets malloc_message and reads what such programs read. It runs with the shim in the place of that library;
// or, without jemalloc's header, linked with the shim itself.
#ifdef TEST_OWN_DECLARATIONS
#include "declarations.h"
#else
#include <jemalloc/jemalloc.h>
#endif

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEMAND(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

enum { BLOCK = 5000, BLOCKS = 50 };

const char *malloc_conf = "prof:true,lg_prof_sample:0,prof_stats:true,narenas:3,prof_prefix:linked,nonsense:1,"
                          "experimental_hs_control:false";

static int failures;
static char heard[4096];

static void hear(void *opaque, const char *message)
{
    (void)opaque;
    strncat(heard, message, sizeof heard - strlen(heard) - 1);
}

static size_t read_size(const char *name)
{
    size_t value = 0, length = sizeof value;
    DEMAND(mallctl(name, &value, &length, NULL, 0) == 0);
    return value;
}

static uint64_t read_64(const char *name)
{
    uint64_t value = 0;
    size_t length = sizeof value;
    DEMAND(mallctl(name, &value, &length, NULL, 0) == 0);
    return value;
}

static bool read_bool(const char *name)
{
    bool value = false;
    size_t length = sizeof value;
    DEMAND(mallctl(name, &value, &length, NULL, 0) == 0);
    return value;
}

static bool swap(const char *name, bool value)
{
    bool old = false;
    size_t length = sizeof old;
    DEMAND(mallctl(name, &old, &length, &value, sizeof value) == 0);
    return old;
}

// ---- options and messages -------------------------------------------------------------------------------------------

static void options(void)
{
    unsigned arenas = 0;
    size_t length = sizeof arenas;
    DEMAND(read_bool("opt.prof"));
    DEMAND(read_size("opt.lg_prof_sample") == 0);
    DEMAND(mallctl("opt.narenas", &arenas, &length, NULL, 0) == 0 && arenas == 3);
    malloc_message = hear;
    malloc_stats_print(NULL, NULL, "gmdablxeh");
    malloc_message = NULL;
    DEMAND(strncmp(heard, "___ Begin jemalloc statistics ___\n", 34) == 0);
}

// ---- counters -------------------------------------------------------------------------------------------------------

static void counters(void)
{
    uint64_t *allocated = NULL, *deallocated = NULL;
    size_t length = sizeof allocated, epoch = read_64("epoch");
    DEMAND(mallctl("thread.allocatedp", &allocated, &length, NULL, 0) == 0);
    DEMAND(mallctl("thread.deallocatedp", &deallocated, &length, NULL, 0) == 0);
    uint64_t before = *allocated, freed = *deallocated, one = 1;
    void *block = malloc(1 << 20);
    size_t usable = malloc_usable_size(block);
    DEMAND(*allocated - before == usable && read_64("thread.allocated") - before == usable);
    free(block);
    DEMAND(*deallocated - freed == usable && read_64("thread.deallocated") - freed == usable);

    block = malloc(10 << 20);
    size_t stale = read_size("stats.allocated");
    DEMAND(mallctl("epoch", NULL, NULL, &one, sizeof one) == 0);
    DEMAND(read_64("epoch") == epoch + 1);
    DEMAND(read_size("stats.allocated") >= stale);
    DEMAND(read_size("stats.allocated") >= 10 << 20);
    DEMAND(read_size("stats.active") >= read_size("stats.allocated"));
    DEMAND(read_size("stats.resident") >= read_size("stats.active"));
    DEMAND(read_size("stats.mapped") >= read_size("stats.resident"));
    free(block);

    DEMAND(mallctl("thread.peak.reset", NULL, NULL, NULL, 0) == 0);
    block = malloc(3 << 20);
    DEMAND(read_64("thread.peak.read") >= 3 << 20);
    free(block);
    block = malloc(5 << 20);
    free(block);
    DEMAND(read_64("thread.peak.read") >= 5 << 20);
    DEMAND(read_64("thread.peak.read") < 6 << 20);
    DEMAND(read_64("thread.peak.read") >= 3 << 20);
}

// ---- profiling ------------------------------------------------------------------------------------------------------

struct class_count {
    uint64_t requested, blocks;
};

// The pattern of programs that walk a table: one MIB, its index patched.
static struct class_count count_of(const char *name, size_t size)
{
    size_t mib[7], depth = 7, bins[4], bin_depth = 4, length;
    struct class_count count = {0, 0};
    DEMAND(mallctlnametomib(name, mib, &depth) == 0);
    DEMAND(mallctlnametomib("arenas.bin.0.size", bins, &bin_depth) == 0);
    for (size_t i = 0; i < 36; i++) {
        size_t class_size = 0;
        length = sizeof class_size;
        bins[2] = i;
        DEMAND(mallctlbymib(bins, bin_depth, &class_size, &length, NULL, 0) == 0);
        if (class_size < size)
            continue;
        length = sizeof count;
        mib[3] = i;
        DEMAND(mallctlbymib(mib, depth, &count, &length, NULL, 0) == 0);
        break;
    }
    return count;
}

static void class_counts(void)
{
    void *blocks[BLOCKS];
    struct class_count before = count_of("prof.stats.bins.0.live", BLOCK);
    struct class_count total = count_of("prof.stats.bins.0.accum", BLOCK);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(BLOCK);
    struct class_count now = count_of("prof.stats.bins.0.live", BLOCK);
    DEMAND(now.blocks - before.blocks == BLOCKS && now.requested - before.requested == BLOCKS * BLOCK);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    now = count_of("prof.stats.bins.0.live", BLOCK);
    DEMAND(now.blocks == before.blocks && now.requested == before.requested);
    now = count_of("prof.stats.bins.0.accum", BLOCK);
    DEMAND(now.blocks - total.blocks == BLOCKS);
}

static long file_size(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    return size;
}

static char hooked[64];

static void dump_hook(const char *path)
{
    snprintf(hooked, sizeof hooked, "%s", path);
}

static void dumps(void)
{
    const char *path = "explicit.heap";
    void (*hook)(const char *) = dump_hook;
    char name[64];
    DEMAND(mallctl("experimental.hooks.prof_dump", NULL, NULL, &hook, sizeof hook) == 0);
    DEMAND(mallctl("prof.dump", NULL, NULL, &path, sizeof path) == 0);
    DEMAND(file_size(path) > 0 && strcmp(hooked, path) == 0);
    DEMAND(mallctl("prof.dump", NULL, NULL, NULL, 0) == 0);
    snprintf(name, sizeof name, "linked.%d.0.m0.heap", (int)getpid());
    DEMAND(file_size(name) > 0);
    const char *prefix = "other";
    DEMAND(mallctl("prof.prefix", NULL, NULL, &prefix, sizeof prefix) == 0);
    DEMAND(mallctl("prof.dump", NULL, NULL, NULL, 0) == 0);
    snprintf(name, sizeof name, "other.%d.1.m1.heap", (int)getpid());
    DEMAND(file_size(name) > 0);
}

static void switches(void)
{
    DEMAND(swap("prof.active", false));
    struct class_count before = count_of("prof.stats.bins.0.accum", BLOCK);
    free(malloc(BLOCK));
    DEMAND(count_of("prof.stats.bins.0.accum", BLOCK).blocks == before.blocks);
    DEMAND(!swap("prof.active", true));
    DEMAND(swap("thread.prof.active", false));
    free(malloc(BLOCK));
    DEMAND(count_of("prof.stats.bins.0.accum", BLOCK).blocks == before.blocks);
    DEMAND(!swap("thread.prof.active", true));
    free(malloc(BLOCK));
    DEMAND(count_of("prof.stats.bins.0.accum", BLOCK).blocks == before.blocks + 1);
}

// ---- the log and recent allocations ---------------------------------------------------------------------------------

static char *read_file(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = 0;
    if (file)
        fclose(file);
    return text;
}

static unsigned count(const char *text, const char *what)
{
    unsigned found = 0;
    while ((text = strstr(text, what)) && ++found)
        text += strlen(what);
    return found;
}

static void *free_it(void *block)
{
    free(block);
    return NULL;
}

static void allocation_log(void)
{
    const char *path = "log.json", *name = "the \"main\" one";
    pthread_t thread;
    DEMAND(mallctl("thread.prof.name", NULL, NULL, &name, sizeof name) == 0);
    DEMAND(mallctl("prof.log_start", NULL, NULL, &path, sizeof path) == 0);
    for (int i = 0; i < BLOCKS; i++)
        free(malloc(BLOCK + 1));
    void *elsewhere = malloc(BLOCK + 1), *kept = malloc(BLOCK + 2);
    pthread_create(&thread, NULL, free_it, elsewhere);
    pthread_join(thread, NULL);
    DEMAND(mallctl("prof.log_stop", NULL, NULL, NULL, 0) == 0);
    free(kept);
    char usize[32];
    elsewhere = malloc(BLOCK + 1);
    snprintf(usize, sizeof usize, "\"usize\":%zu}", malloc_usable_size(elsewhere));
    free(elsewhere);
    const char *text = read_file(path);
    DEMAND(count(text, usize) >= BLOCKS + 1);
    DEMAND(count(text, "\"thr_uid\":") == 2);
    DEMAND(strstr(text, "\"thr_name\":\"the \\\"main\\\" one\"") != NULL);
    DEMAND(count(text, "{\"info\":{\"duration\":") == 1);
    DEMAND(strstr(text, "[]") == NULL);
}

static char recent[1 << 20];

static void collect(void *opaque, const char *text)
{
    (void)opaque;
    free(malloc(100)); // programs do
    strncat(recent, text, sizeof recent - strlen(recent) - 1);
}

static void recent_allocations(void)
{
    ssize_t limit = 5, old = -9;
    size_t length = sizeof old;
    struct {
        void (*write)(void *opaque, const char *text);
        void *opaque;
    } dump = {collect, NULL};
    DEMAND(mallctl("experimental.prof_recent.alloc_max", &old, &length, &limit, sizeof limit) == 0 && old == 0);
    void *kept = NULL;
    for (int i = 0; i < 20; i++) {
        free(kept);
        kept = malloc(7000 + (size_t)i);
    }
    DEMAND(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &dump, sizeof dump) == 0);
    DEMAND(strstr(recent, "{\"sample_interval\":1,\"recent_alloc_max\":5,\"recent_alloc\":[{\"size\":7015,") == recent);
    DEMAND(count(recent, "\"released\":true") == 4 && count(recent, "\"released\":false") == 1);
    DEMAND(strstr(recent, "\"size\":7019") && count(recent, "\"dalloc_trace\":[\"0x") == 4);
    limit = 0;
    DEMAND(mallctl("experimental.prof_recent.alloc_max", &old, &length, &limit, sizeof limit) == 0 && old == 5);
    free(kept);
}

// ---- hooks ----------------------------------------------------------------------------------------------------------

static const void *sampled, *unsampled;
static size_t sampled_size;
static unsigned sampled_frames;

static void sample_hook(const void *block, size_t size, void **frames, unsigned frame_count, size_t usable)
{
    (void)frames, (void)usable;
    free(malloc(10));
    sampled = block;
    sampled_size = size;
    sampled_frames = frame_count;
}

static void sample_free_hook(const void *block, size_t usable)
{
    (void)usable;
    free(malloc(10));
    unsampled = block;
}

static void (*default_backtrace)(void **frames, unsigned *count, unsigned limit);
static unsigned backtraces;

static void backtrace_hook(void **frames, unsigned *frame_count, unsigned limit)
{
    backtraces++;
    default_backtrace(frames + 1, frame_count, limit - 1);
    frames[0] = (void *)&backtraces;
    ++*frame_count;
}

static void hooks(void)
{
    void (*sample)(const void *, size_t, void **, unsigned, size_t) = sample_hook;
    void (*sample_free)(const void *, size_t) = sample_free_hook;
    void (*backtrace)(void **, unsigned *, unsigned) = backtrace_hook;
    void *none = NULL;
    size_t length = sizeof default_backtrace;
    DEMAND(mallctl("experimental.hooks.prof_sample", NULL, NULL, &sample, sizeof sample) == 0);
    DEMAND(mallctl("experimental.hooks.prof_sample_free", NULL, NULL, &sample_free, sizeof sample_free) == 0);
    void *volatile block = malloc(777);
    DEMAND(sampled == block && sampled_size == 777 && sampled_frames >= 2);
    free(block);
    DEMAND(unsampled == sampled);
    block = realloc(malloc(1000), 100000);
    DEMAND(sampled == block && sampled_size == 100000 && unsampled != NULL);
    free(block);
    DEMAND(mallctl("experimental.hooks.prof_sample_free", NULL, NULL, &none, sizeof none) == 0);
    DEMAND(mallctl("experimental.hooks.prof_backtrace", &default_backtrace, &length, &backtrace, sizeof backtrace) ==
           0);
    DEMAND(default_backtrace != NULL);
    block = malloc(778);
    DEMAND(sampled == block && backtraces == 1 && sampled_frames >= 3);
    DEMAND(mallctl("experimental.hooks.prof_backtrace", NULL, NULL, &default_backtrace, sizeof default_backtrace) == 0);
    free(block);
    free(malloc(779));
    DEMAND(backtraces == 1);
    DEMAND(mallctl("experimental.hooks.prof_sample", NULL, NULL, &none, sizeof none) == 0);
}

// ---- the *allocx family ---------------------------------------------------------------------------------------------

static bool holds(const char *bytes, size_t from, size_t to, char value)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

// Blocks that were used before, of every size that is asked for below.
static void make_dirty(void)
{
    static void *blocks[4096];
    for (unsigned i = 0; i < 4096; i++) {
        size_t size = 1 + i * 7 % 2000;
        blocks[i] = malloc(size);
        memset(blocks[i], 0xaa, size);
    }
    for (unsigned i = 0; i < 4096; i++)
        free(blocks[i]);
}

// Programs use all that they are told of. What lies behind a block would be overwritten.
static void promised_sizes(void)
{
    enum { AT_ONCE = 16 };
    char *blocks[AT_ONCE];
    for (size_t size = 1; size < 300000; size += 1 + size / 13)
        for (int lg = 0; lg < 15; lg += 2) {
            size_t promised = nallocx(size, lg);
            for (int i = 0; i < AT_ONCE; i++) {
                blocks[i] = mallocx(size, lg);
                DEMAND(blocks[i] && promised >= size && sallocx(blocks[i], 0) >= promised);
                memset(blocks[i], i, promised);
            }
            for (int i = 0; i < AT_ONCE; i++) {
                DEMAND(holds(blocks[i], 0, promised, (char)i));
                sdallocx(blocks[i], size, lg);
            }
        }
    DEMAND(nallocx(100, 0) == 112);
    volatile size_t too_much = (size_t)7 << (sizeof(size_t) * 8 - 4);
    DEMAND(nallocx(too_much + 1, 0) == 0 && mallocx(too_much + 1, 0) == NULL);
    char *kept = mallocx(10, MALLOCX_ZERO);
    DEMAND(rallocx(kept, too_much + 1, 0) == NULL && kept[9] == 0);
    dallocx(kept, 0);
}

static void zeroed_blocks(void)
{
    for (size_t size = 1; size < 2000; size += 13)
        for (int lg = 0; lg < 13; lg++) {
            char *block = mallocx(size, MALLOCX_ZERO | lg);
            size_t before = sallocx(block, 0);
            DEMAND((uintptr_t)block % ((size_t)1 << lg) == 0 && holds(block, 0, before, 0));
            memset(block, 0x55, before);
            block = rallocx(block, size * 3, MALLOCX_ZERO | lg);
            DEMAND((uintptr_t)block % ((size_t)1 << lg) == 0 && holds(block, 0, before, 0x55));
            DEMAND(holds(block, before, sallocx(block, 0), 0));
            dallocx(block, lg);
        }
}

// To a larger alignment a block moves: what both have is kept; by jemalloc, whose blocks are not larger than what
// nallocx() says, what was asked for.
static void moved_blocks(void)
{
    for (size_t size = 1; size < 2000; size += 13) {
        char *block = mallocx(size, 0);
        size_t before = sallocx(block, 0);
        memset(block, 0x55, before);
        block = rallocx(block, size, MALLOCX_ALIGN(256));
        size_t now = before == nallocx(size, 0) ? size : sallocx(block, 0);
        DEMAND((uintptr_t)block % 256 == 0 && holds(block, 0, before < now ? before : now, 0x55));
        dallocx(block, MALLOCX_ALIGN(256));
    }
}

// A block of a cache of the program's own goes back there, and not to malloc.
static void caches(void)
{
    unsigned arena = 0, cache = 0, found = 0;
    size_t length = sizeof arena;
    DEMAND(mallctl("arenas.create", &arena, &length, NULL, 0) == 0);
    DEMAND(mallctl("tcache.create", &cache, &length, NULL, 0) == 0);
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE(cache);
    for (int i = 0; i < 2; i++) {
        void *block = mallocx(3000, flags);
        if (i)
            sdallocx(block, 3000, flags);
        else
            dallocx(block, flags);
        block = malloc(3000);
        length = sizeof found;
        DEMAND(mallctl("arenas.lookup", &found, &length, &block, sizeof block) == 0 && found != arena);
        free(block);
    }
    DEMAND(mallctl("tcache.destroy", NULL, NULL, &cache, sizeof cache) == 0);
}

static void freed_samples(void)
{
    struct class_count before = count_of("prof.stats.bins.0.live", BLOCK);
    for (int i = 0; i < BLOCKS; i++) {
        dallocx(mallocx(BLOCK, 0), 0);
        sdallocx(rallocx(mallocx(100, 0), BLOCK, MALLOCX_ALIGN(32)), BLOCK, MALLOCX_ALIGN(32));
    }
    DEMAND(count_of("prof.stats.bins.0.live", BLOCK).blocks == before.blocks);
}

static void extended(void)
{
    make_dirty();
    promised_sizes();
    zeroed_blocks();
    moved_blocks();
    caches();
    freed_samples();
    char *block = rallocx(mallocx(100, MALLOCX_ZERO), 10000, MALLOCX_ZERO);
    DEMAND(holds(block, 0, 10000, 0));
    DEMAND(xallocx(block, 10000, 0, 0) >= 10000);
    sdallocx(block, 10000, 0);
}

int main(void)
{
    options();
    counters();
    class_counts();
    dumps();
    switches();
    allocation_log();
    recent_allocations();
    hooks();
    extended();
    printf("%d failures\n", failures);
    return failures != 0;
}
