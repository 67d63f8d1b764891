// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Asks for every node in every right and wrong way and prints what comes back, one line for each call, beginning with
// the name: what two implementations print can be compared line by line. Numbers that depend on the moment are not
// printed, addresses never.
//
//   nodes NAMES           reads the names from a file
//   nodes NAMES beyond    also does what jemalloc 5.3.0 crashes of
#include "calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH = 7, ROOM = 64 };

static bool beyond; // also what jemalloc 5.3.0 cannot stand

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// What a call of them does cannot be taken back, or goes to places that only jemalloc has.
static bool is_left_alone(const char *name)
{
    static const char *const prefixes[] = {"arena.0.",
                                           "arena.4096.",
                                           "arena.99999.",
                                           "experimental.hooks.install",
                                           "experimental.hooks.remove",
                                           "experimental.utilization",
                                           "experimental.batch_alloc",
                                           "experimental.arenas",
                                           "experimental.thread",
                                           "experimental.hooks.safety",
                                           "prof.dump",
                                           "prof.reset",
                                           "prof.log",
                                           "prof.prefix",
                                           "tcache.",
                                           "arenas.create",
                                           "arenas.lookup"};
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_with(name, prefixes[i]))
            return true;
    return false;
}

// Whether everybody reads the same.
static bool has_fixed_value(const char *name)
{
    static const char *const prefixes[] = {"opt.",
                                           "arenas.bin",
                                           "arenas.lextent",
                                           "arenas.quantum",
                                           "arenas.page",
                                           "arenas.n",
                                           "arenas.tcache_max",
                                           "arenas.dirty",
                                           "arenas.muzzy",
                                           "prof.",
                                           "thread.prof",
                                           "thread.tcache",
                                           "config.",
                                           "background_thread",
                                           "max_background_threads",
                                           "stats.zero_reallocs"};
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (starts_with(name, prefixes[i]))
            return true;
    return false;
}

static bool is_text(const char *name)
{
    static const char *const names[] = {"opt.metadata_thp",
                                        "opt.dss",
                                        "opt.percpu_arena",
                                        "opt.stats_print_opts",
                                        "opt.stats_interval_opts",
                                        "opt.junk",
                                        "opt.thp",
                                        "opt.prof_prefix",
                                        "opt.prof_time_resolution",
                                        "opt.zero_realloc",
                                        "config.malloc_conf",
                                        "thread.prof.name"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void print_value(const char *name, const unsigned char *value, size_t size)
{
    uint64_t number = 0;
    uint32_t narrow;
    const char *text;
    if (!has_fixed_value(name))
        return;
    if (is_text(name) && size == sizeof text) {
        memcpy(&text, value, sizeof text);
        printf(" \"%s\"", text);
        return;
    }
    if (size == 4)
        memcpy(&narrow, value, sizeof narrow), number = narrow;
    else if (size == 8)
        memcpy(&number, value, sizeof number);
    else
        number = value[0];
    printf(" %lld", (long long)number);
}

static void ask_for_mib(const char *name)
{
    static const size_t rooms[] = {0, 1, 2, DEPTH};
    for (unsigned r = 0; r < sizeof rooms / sizeof *rooms; r++) {
        size_t room = rooms[r];
        size_t mib[DEPTH] = {0}, depth = room;
        int result = mallctlnametomib(name, mib, &depth);
        printf("%s mib room %zu: %d", name, room, result);
        if (result == 0)
            for (size_t i = 0; i < depth; i++)
                printf(" %zu", mib[i]);
        else
            printf(" depth %zu", depth);
        printf("\n");
    }
}

static void read_with(const char *name, const char *how, size_t room)
{
    unsigned char value[ROOM];
    memset(value, 0xee, sizeof value);
    size_t length = room;
    int result = mallctl(name, value, &length, NULL, 0);
    size_t touched = ROOM;
    while (touched && value[touched - 1] == 0xee)
        touched--;
    printf("%s read %s: %d length %zu%s", name, how, result, length, touched > room ? " OVERRUN" : "");
    if (result == 0 && length == room)
        print_value(name, value, length);
    printf("\n");
}

static size_t size_of(const char *name)
{
    unsigned char value[ROOM];
    size_t length = sizeof value;
    return mallctl(name, value, &length, NULL, 0) == 22 ? length : 0;
}

static void ask_to_read(const char *name)
{
    unsigned char value[ROOM];
    size_t size = size_of(name), length = size;
    read_with(name, "much", ROOM);
    read_with(name, "right", size);
    read_with(name, "nothing", 0);
    if (size > 1)
        read_with(name, "one byte", 1);
    printf("%s old alone: %d\n", name, mallctl(name, value, NULL, NULL, 0));
    printf("%s length alone: %d\n", name, mallctl(name, NULL, &length, NULL, 0));
    printf("%s neither: %d\n", name, mallctl(name, NULL, NULL, NULL, 0));
}

static void ask_to_write_wrongly(const char *name)
{
    unsigned char value[ROOM] = {0};
    size_t size = size_of(name), length = ROOM;
    printf("%s write length alone: %d\n", name, mallctl(name, NULL, NULL, NULL, 1));
    printf("%s write too long: %d\n", name, mallctl(name, NULL, NULL, value, size + 1));
    printf("%s write nothing: %d\n", name, mallctl(name, NULL, NULL, value, 0));
    printf("%s read much and write too long: %d", name, mallctl(name, value, &length, value, 63));
    printf(" %zu\n", length);
}

static void ask_by_mib(const char *name)
{
    size_t mib[DEPTH + 1] = {0}, depth = DEPTH;
    unsigned char value[ROOM];
    if (mallctlnametomib(name, mib, &depth) != 0)
        return;
    size_t size = size_of(name), length = size;
    int result = mallctlbymib(mib, depth, value, &length, NULL, 0);
    printf("%s by mib: %d\n", name, result);
    length = size;
    printf("%s by mib, too short: %d\n", name, mallctlbymib(mib, depth - 1, value, &length, NULL, 0));
    length = size;
    // jemalloc crashes.
    if (beyond && depth < DEPTH && result != 2)
        printf("%s by mib, too long: %d\n", name, mallctlbymib(mib, depth + 1, value, &length, NULL, 0));
    mib[depth - 1] += 100000;
    length = size;
    printf("%s by wrong mib: %d\n", name, mallctlbymib(mib, depth, value, &length, NULL, 0));
}

// ---- switches and what belongs to them ------------------------------------------------------------------------------

static void swap(const char *name, bool value, size_t room)
{
    bool old = true;
    size_t length = room;
    int result = mallctl(name, &old, &length, &value, sizeof value);
    printf("%s swap %d, room %zu: %d length %zu old %d\n", name, value, room, result, length, old);
    length = sizeof old;
    result = mallctl(name, &old, &length, NULL, 0);
    printf("%s then: %d %d\n", name, result, old);
}

static void try_switches(void)
{
    static const char *const names[] = {"prof.active",        "prof.thread_active_init", "prof.gdump",
                                        "thread.prof.active", "background_thread",       "thread.tcache.enabled"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        swap(names[i], false, 1);
        swap(names[i], true, 1);
        swap(names[i], false, 8);
        swap(names[i], true, 0);
        swap(names[i], false, 1);
    }
}

static void try_text(const char *name, const char *value, const char *shown)
{
    printf("%s write %s: %d\n", name, shown, mallctl(name, NULL, NULL, &value, sizeof value));
    const char *read = NULL;
    size_t length = sizeof read;
    int result = mallctl(name, &read, &length, NULL, 0);
    printf("%s then: %d %s\n", name, result, result == 0 ? read : "");
}

static void try_thread_name(void)
{
    const char *name = "worker", *read = NULL;
    size_t length = sizeof read;
    try_text("thread.prof.name", "worker one", "two words");
    try_text("thread.prof.name", "tab\there", "a tab");
    try_text("thread.prof.name", "line\nbreak", "a line break");
    try_text("thread.prof.name", "\xc3\xa4", "a letter of two bytes");
    try_text("thread.prof.name", NULL, "NULL");
    try_text("thread.prof.name", "", "nothing");
    try_text("thread.prof.name", "fifteen letters", "fifteen bytes");
    try_text("thread.prof.name", "sixteen letters.", "sixteen bytes");
    printf("thread.prof.name both: %d\n", mallctl("thread.prof.name", &read, &length, &name, sizeof name));
}

static void try_log(void)
{
    const char *path = "/dev/null", *nowhere = "/nonexistent/log";
    printf("prof.log_stop without start: %d\n", mallctl("prof.log_stop", NULL, NULL, NULL, 0));
    printf("prof.log_start: %d\n", mallctl("prof.log_start", NULL, NULL, &path, sizeof path));
    printf("prof.log_start twice: %d\n", mallctl("prof.log_start", NULL, NULL, &path, sizeof path));
    printf("prof.log_stop: %d\n", mallctl("prof.log_stop", NULL, NULL, NULL, 0));
    printf("prof.log_stop twice: %d\n", mallctl("prof.log_stop", NULL, NULL, NULL, 0));
    printf("prof.log_start wrong length: %d\n", mallctl("prof.log_start", NULL, NULL, &path, 3));
    printf("prof.log_start read: %d\n", mallctl("prof.log_start", &path, NULL, NULL, 0));
    printf("prof.log_start nowhere: %d\n", mallctl("prof.log_start", NULL, NULL, &nowhere, sizeof nowhere));
    printf("prof.log_stop nowhere: %d\n", mallctl("prof.log_stop", NULL, NULL, NULL, 0));
    printf("prof.log_start after failure: %d\n", mallctl("prof.log_start", NULL, NULL, &path, sizeof path));
    printf("prof.log_stop after failure: %d\n", mallctl("prof.log_stop", NULL, NULL, NULL, 0));
}

static void try_dump(void)
{
    const char *null = "/dev/null", *nowhere = "/nonexistent/dump", *empty = "", *none = NULL;
    size_t lg = 5, length = sizeof lg;
    printf("prof.dump: %d\n", mallctl("prof.dump", NULL, NULL, &null, sizeof null));
    printf("prof.dump nowhere: %d\n", mallctl("prof.dump", NULL, NULL, &nowhere, sizeof nowhere));
    printf("prof.dump wrong length: %d\n", mallctl("prof.dump", NULL, NULL, &null, 4));
    printf("prof.dump read: %d\n", mallctl("prof.dump", &null, &length, NULL, 0));
    printf("prof.dump length alone: %d\n", mallctl("prof.dump", NULL, &length, &null, sizeof null));
    printf("prof.prefix wrong length: %d\n", mallctl("prof.prefix", NULL, NULL, &empty, 3));
    printf("prof.prefix read: %d\n", mallctl("prof.prefix", &null, NULL, NULL, 0));
    printf("prof.prefix: %d\n", mallctl("prof.prefix", NULL, NULL, &empty, sizeof empty));
    printf("prof.dump without prefix: %d\n", mallctl("prof.dump", NULL, NULL, NULL, 0));
    printf("prof.dump NULL without prefix: %d\n", mallctl("prof.dump", NULL, NULL, &none, sizeof none));
    printf("prof.reset wrong length: %d\n", mallctl("prof.reset", NULL, NULL, &lg, 3));
    printf("prof.reset read: %d\n", mallctl("prof.reset", &lg, &length, NULL, 0));
    printf("prof.reset: %d\n", mallctl("prof.reset", NULL, NULL, &lg, sizeof lg));
    length = sizeof lg;
    int result = mallctl("prof.lg_sample", &lg, &length, NULL, 0);
    printf("prof.lg_sample then: %d %zu\n", result, lg);
    lg = 77;
    printf("prof.reset 77: %d\n", mallctl("prof.reset", NULL, NULL, &lg, sizeof lg));
    length = sizeof lg;
    result = mallctl("prof.lg_sample", &lg, &length, NULL, 0);
    printf("prof.lg_sample then: %d %zu\n", result, lg);
    printf("prof.reset same: %d\n", mallctl("prof.reset", NULL, NULL, NULL, 0));
}

static void ignore_text(void *opaque, const char *text)
{
    size_t *length = opaque;
    *length += strlen(text);
}

static void backtrace_hook(void **frames, unsigned *count, unsigned limit)
{
    (void)frames, (void)limit;
    *count = 0;
}

static void dump_hook(const char *name)
{
    printf("dump hook: %s\n", name);
}

static void try_experimental(void)
{
    ptrdiff_t limit = 5, old = -9;
    size_t length = sizeof old, written = 0;
    const char *null = "/dev/null";
    struct {
        void (*write)(void *opaque, const char *text);
        void *opaque;
    } dump = {ignore_text, &written};
    void (*hook)(void **, unsigned *, unsigned) = backtrace_hook, (*before)(void **, unsigned *, unsigned) = NULL;
    void (*on_dump)(const char *) = dump_hook, (*none)(const char *) = NULL;
    int result = mallctl("experimental.prof_recent.alloc_max", &old, &length, &limit, sizeof limit);
    printf("experimental.prof_recent.alloc_max 5: %d %td\n", result, old);
    limit = -2;
    printf("experimental.prof_recent.alloc_max -2: %d\n",
           mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &limit, sizeof limit));
    result = mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &dump, sizeof dump);
    printf("experimental.prof_recent.alloc_dump: %d %d\n", result, written > 0);
    printf("experimental.prof_recent.alloc_dump wrong length: %d\n",
           mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &dump, 3));
    dump.write = NULL;
    printf("experimental.prof_recent.alloc_dump NULL: %d\n",
           mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &dump, sizeof dump));
    length = sizeof before;
    result = mallctl("experimental.hooks.prof_backtrace", &before, &length, NULL, 0);
    printf("experimental.hooks.prof_backtrace read: %d %d\n", result, before != NULL);
    result = mallctl("experimental.hooks.prof_backtrace", &before, &length, &hook, sizeof hook);
    printf("experimental.hooks.prof_backtrace swap: %d %d\n", result, before != hook);
    result = mallctl("experimental.hooks.prof_backtrace", NULL, NULL, &none, sizeof none);
    printf("experimental.hooks.prof_backtrace NULL: %d\n", result);
    printf("experimental.hooks.prof_backtrace wrong length: %d\n",
           mallctl("experimental.hooks.prof_backtrace", NULL, NULL, &hook, 3));
    printf("experimental.hooks.prof_backtrace neither: %d\n",
           mallctl("experimental.hooks.prof_backtrace", NULL, NULL, NULL, 0));
    printf("experimental.hooks.prof_backtrace back: %d\n",
           mallctl("experimental.hooks.prof_backtrace", NULL, NULL, &before, sizeof before));
    printf("experimental.hooks.prof_dump: %d\n",
           mallctl("experimental.hooks.prof_dump", NULL, NULL, &on_dump, sizeof on_dump));
    fflush(stdout);
    printf("prof.dump with hook: %d\n", mallctl("prof.dump", NULL, NULL, &null, sizeof null));
    printf("experimental.hooks.prof_dump NULL: %d\n",
           mallctl("experimental.hooks.prof_dump", NULL, NULL, &none, sizeof none));
}

// ---- arenas that the program makes ----------------------------------------------------------------------------------

static unsigned make_arena(const void *hooks)
{
    unsigned number = 0;
    size_t length = sizeof number;
    int result = mallctl("arenas.create", &number, &length, hooks ? &hooks : NULL, hooks ? sizeof hooks : 0);
    printf("arenas.create: %d\n", result);
    return number;
}

static const char *of_arena(const char *leaf, unsigned number)
{
    static char name[64];
    snprintf(name, sizeof name, "arena.%u.%s", number, leaf);
    return name;
}

static void set_and_show(const char *leaf, unsigned number, const char *who, size_t value)
{
    const char *name = of_arena(leaf, number);
    printf("%s of %s, write %zd: %d\n", leaf, who, (ssize_t)value, mallctl(name, NULL, NULL, &value, sizeof value));
}

static void show(const char *leaf, unsigned number, const char *who)
{
    size_t value = 0, length = sizeof value;
    int result = mallctl(of_arena(leaf, number), &value, &length, NULL, 0);
    printf("%s of %s: %d %zd\n", leaf, who, result, (ssize_t)value);
}

static void *hooks_of(unsigned number)
{
    void *hooks = NULL;
    size_t length = sizeof hooks;
    return mallctl(of_arena("extent_hooks", number), &hooks, &length, NULL, 0) == 0 ? hooks : NULL;
}

static void try_settings(unsigned own)
{
    static const size_t limits[] = {0, 1, 4095, 4096, 4097, 5 << 20, 9 << 20, 1000000000, SIZE_MAX / 2 + 1, SIZE_MAX};
    static const char *const leaves[] = {"dirty_decay_ms", "muzzy_decay_ms", "oversize_threshold"};
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        set_and_show("retain_grow_limit", own, "own", limits[i]);
        show("retain_grow_limit", own, "own");
    }
    for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        set_and_show(leaves[i], own, "own", 777);
        show(leaves[i], own, "own");
        show(leaves[i], 0, "the first");
        show(leaves[i], 4096, "all");
    }
    set_and_show("dirty_decay_ms", own, "own", (size_t)-2);
    show("retain_grow_limit", 0, "the first");
    const char *word = "primary", *read = NULL;
    size_t length = sizeof read;
    int result = mallctl(of_arena("dss", own), NULL, NULL, &word, sizeof word);
    printf("dss of own, write: %d\n", result);
    result = mallctl(of_arena("dss", own), &read, &length, NULL, 0);
    printf("dss of own: %d %s\n", result, read);
    result = mallctl("arena.0.dss", &read, &length, NULL, 0);
    printf("dss of the first: %d %s\n", result, read);
}

static void try_hooks(unsigned own)
{
    static void *hooks[9], *other[9];
    void *const *usual = hooks_of(0);
    for (unsigned i = 0; i < 9; i++)
        printf("hook %u: %d\n", i, usual && (hooks[i] = usual[i]) != NULL);
    printf("hooks of own: %d\n", hooks_of(own) == usual);
    void *mine = hooks;
    int result = mallctl(of_arena("extent_hooks", own), NULL, NULL, &mine, sizeof mine);
    printf("hooks of own, write: %d %d %d\n", result, hooks_of(own) == hooks, hooks_of(0) == usual);
    printf("hooks of a new one: %d\n", hooks_of(make_arena(memcpy(other, hooks, sizeof other))) == other);
}

static void show_thread_arena(unsigned own)
{
    unsigned number = 77;
    size_t length = sizeof number;
    int result = mallctl("thread.arena", &number, &length, NULL, 0);
    printf("thread.arena: %d, own %d\n", result, number == own);
}

static void set_thread_arena(unsigned number, const char *who)
{
    printf("thread.arena, write %s: %d\n", who, mallctl("thread.arena", NULL, NULL, &number, sizeof number));
}

static void destroy(unsigned number, const char *who)
{
    bool initialized = true;
    size_t length = sizeof initialized;
    printf("destroy %s: %d\n", who, mallctl(of_arena("destroy", number), NULL, NULL, NULL, 0));
    mallctl(of_arena("initialized", number), &initialized, &length, NULL, 0);
    printf("%s then: %d\n", who, initialized);
    show("dirty_decay_ms", number, who);
}

static void try_arenas(void)
{
    size_t decay = 88;
    printf("arenas.dirty_decay_ms, write: %d\n", mallctl("arenas.dirty_decay_ms", NULL, NULL, &decay, sizeof decay));
    unsigned own = make_arena(NULL);
    show("dirty_decay_ms", own, "own");
    show("dirty_decay_ms", 0, "the first");
    try_settings(own);
    try_hooks(own);
    show_thread_arena(own);
    set_thread_arena(own, "own");
    show_thread_arena(own);
    set_thread_arena(5000, "one that is not there");
    destroy(own, "the thread's");
    set_thread_arena(0, "the first");
    destroy(0, "the first");
    destroy(4096, "all");
    destroy(own, "own");
    destroy(own, "own again");
    printf("the same number again: %d\n", make_arena(NULL) == own);
    show("dirty_decay_ms", own, "own again");
    show("retain_grow_limit", own, "own again");
}

static void try_rest(void)
{
    uint64_t epoch = 1, before = 0, after = 0;
    size_t length = sizeof before;
    mallctl("epoch", &before, &length, NULL, 0);
    int result = mallctl("epoch", &after, &length, &epoch, sizeof epoch);
    printf("epoch: %d +%d\n", result, (int)(after - before));
    printf("arena.0.purge: %d\n", mallctl("arena.0.purge", NULL, NULL, NULL, 0));
    printf("arena.0.decay: %d\n", mallctl("arena.0.decay", NULL, NULL, NULL, 0));
    printf("arena.4096.purge: %d\n", mallctl("arena.4096.purge", NULL, NULL, NULL, 0));
    printf("arena.0.purge with a value: %d\n", mallctl("arena.0.purge", NULL, NULL, &epoch, sizeof epoch));
    printf("arena.99999.purge: %d\n", mallctl("arena.99999.purge", NULL, NULL, NULL, 0));
    printf("thread.tcache.flush: %d\n", mallctl("thread.tcache.flush", NULL, NULL, NULL, 0));
    printf("thread.idle: %d\n", mallctl("thread.idle", NULL, NULL, NULL, 0));
    printf("thread.peak.reset: %d\n", mallctl("thread.peak.reset", NULL, NULL, NULL, 0));
    unsigned number = 77;
    length = sizeof number;
    result = mallctl("tcache.create", &number, &length, NULL, 0);
    printf("tcache.create: %d\n", result);
    printf("tcache.flush: %d\n", mallctl("tcache.flush", NULL, NULL, &number, sizeof number));
    printf("tcache.destroy: %d\n", mallctl("tcache.destroy", NULL, NULL, &number, sizeof number));
    length = 3;
    result = mallctl("tcache.create", &number, &length, NULL, 0);
    printf("tcache.create wrong length: %d %zu\n", result, length);
    uint64_t *allocated = NULL;
    length = sizeof allocated;
    result = mallctl("thread.allocatedp", &allocated, &length, NULL, 0);
    uint64_t so_far = *allocated;
    void *block = malloc(100000);
    printf("thread.allocatedp: %d %d\n", result, *allocated - so_far >= 100000 && *allocated - so_far < 120000);
    free(block);
    size_t one[1] = {0};
    printf("no mib: %d\n", mallctlbymib(one, 0, NULL, NULL, NULL, 0));
}

int main(int count, char **arguments)
{
    char name[256];
    FILE *names = count > 1 ? fopen(arguments[1], "r") : NULL;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    find_calls();
    beyond = count > 2;
    if (!names) {
        fputs("usage: nodes NAMES\n", stderr);
        return 2;
    }
    while (fgets(name, sizeof name, names)) {
        name[strcspn(name, "\n")] = 0;
        ask_for_mib(name);
        if (is_left_alone(name))
            continue;
        ask_by_mib(name);
        ask_to_read(name);
        ask_to_write_wrongly(name);
    }
    fclose(names);
    try_switches();
    try_thread_name();
    try_log();
    try_dump();
    try_experimental();
    try_rest();
    try_arenas();
    return 0;
}
