// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/clock.h"
#include "host/inject/cave.h"
#include "host/inject/hooks.h"
#include "host/inject/image.h"
#include "host/inject/inject.h"
#include "host/inject/permission.h"
#include "host/inject/place.h"
#include "host/inject/region.h"
#include "host/inject/seccomp.h"
#include "host/inject/steer.h"
#include "host/inject/stop.h"
#include "host/inject/thread.h"
#include "host/inject/trap_signal.h"
#include "host/inject/waiting.h"
#include "host/inject/words.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STOP_TRIES = 200,
    BEGIN_SECONDS = 30,
    WAITING_LOOKS = 40,
    WAITING_PAUSE_NS = 5000000,
    FIRST_OFFSET = 0x100,
    PAGE = 4096
};

// In the settings, before the variables.
enum { SETTING_ENVIRON = 8, SETTING_DEBUG = 0x40, SETTING_LIST = 0x100, SETTING_TEXT = 0x400 };

struct attaching {
    const struct hs_inject_request *request;
    struct hs_inject_result *result;
    struct hs_error *error;
    struct hs_inject_target target;
    struct hs_inject_modules modules;
    struct hs_inject_image image;
    struct hs_region region;
    struct hs_hooks hooks;
    bool is_glibc;
    uint8_t settings[HS_REGION_SETTINGS];
};

static int no_memory(struct attaching *attaching, int failed)
{
    return failed ? hs_inject_target__not_written(&attaching->target, failed, attaching->error) : 0;
}

// ---- places --------------------------------------------------------------------------------------------------------

static uint64_t region_size(const struct attaching *attaching)
{
    return HS_REGION_IMAGE + attaching->image.size + HS_REGION_SETTINGS + HS_REGION_LOCAL + HS_REGION_STACK;
}

// Regions stay after a detach, and there is not much room near the allocator: later ones have only their islands there.
static int map_region(struct attaching *attaching, uint64_t near)
{
    const struct hs_thread_words words = attaching->region.words;
    const bool follows_another = hs_region__was_there(&attaching->target);
    uint64_t size = region_size(attaching), at = 0;
    int failed = hs_place__map(&attaching->target, near, !follows_another, size,
                               HS_REGION_IMAGE + attaching->image.writable_at, &at, attaching->error);
    attaching->region = (struct hs_region){.magic = HS_REGION_MAGIC,
                                           .at = at,
                                           .size = size,
                                           .words = words,
                                           .follows_another = follows_another,
                                           .settings = at + HS_REGION_IMAGE + attaching->image.size};
    attaching->region.local = attaching->region.settings + HS_REGION_SETTINGS;
    return failed;
}

// ---- thread-local words --------------------------------------------------------------------------------------------

static bool contains(const struct hs_inject_module *module, const char *text)
{
    return memmem(module->file.bytes, module->file.size, text, strlen(text)) != NULL;
}

// A program without symbols has texts of its C library.
static const char *libc_by_texts(const struct hs_inject_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (!modules->each[i].is_static)
            continue;
        if (contains(&modules->each[i], "Fatal glibc error: ") || contains(&modules->each[i], "glibc.malloc."))
            return "glibc";
        if (contains(&modules->each[i], "MUSL_LOCPATH") ||
            contains(&modules->each[i], "-0X+0X 0X-0x+0x 0x")) // of its printf
            return "musl";
    }
    return NULL;
}

static void use_words(struct attaching *attaching, const struct hs_thread_words *words)
{
    attaching->is_glibc = !strcmp(words->libc, "glibc");
    attaching->region.words = *words;
    attaching->region.words.libc = NULL;
}

// Before libc has begun, its own functions say which one it is.
static int guess_words(struct attaching *attaching)
{
    static const char *const signs[][2] = {{"glibc", "__libc_memalign"}, {"musl", "__init_tp"}, {"musl", "__init_tls"}};
    const struct hs_thread_words *words = attaching->target.arch->words;
    const char *libc = libc_by_texts(&attaching->modules);
    struct hs_thread_words told;
    if (hs_words__told(&attaching->target, &attaching->modules, &told)) {
        use_words(attaching, &told);
        return 0;
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (hs_inject_modules__find(&attaching->modules, NULL, signs[i][1]).module)
            libc = signs[i][0];
    while (libc && words->libc && strcmp(words->libc, libc))
        words++;
    if (libc && words->libc) {
        use_words(attaching, words);
        return 0;
    }
    return hs_error__set(attaching->error, ENOTSUP,
                         "its C library is not known (glibc and musl are known), or it has no table of symbols");
}

static bool are_right(const struct hs_inject_target *target, const struct hs_thread_words *words, uint64_t pointer,
                      uint32_t number)
{
    uint32_t found = 0;
    uintptr_t word = 1;
    return !hs_inject_target__read(target, pointer + (uint64_t)words->tid, &found, sizeof found) && found == number &&
           !hs_inject_target__read(target, pointer + (uint64_t)words->word, &word, sizeof word) &&
           (!word || hs_region__was_there(target));
}

// Which libc it is: where the first thread's number is.
static int find_words(struct attaching *attaching)
{
    struct hs_inject_target *target = &attaching->target;
    uint64_t pc, sp, pointer = 0;
    int failed = hs_inject_stop__one(target, attaching->error);
    pid_t tid = failed ? 0 : target->threads[0].tid;
    if (!failed && hs_inject_thread__look(target->arch, tid, &pc, &sp, &pointer))
        failed = hs_error__set(attaching->error, ESRCH, "process %d has ended", (int)target->pid);
    hs_inject_target__let_go(target);
    uint32_t number = (uint32_t)hs_inject_target__own_tid(target, tid);
    struct hs_thread_words told;
    if (!failed && hs_words__told(target, &attaching->modules, &told) && are_right(target, &told, pointer, number)) {
        use_words(attaching, &told);
        return 0;
    }
    for (const struct hs_thread_words *words = target->arch->words; !failed && words->libc; words++) {
        if (!are_right(target, words, pointer, number))
            continue;
        use_words(attaching, words);
        return 0;
    }
    return failed ? failed
                  : hs_error__set(attaching->error, ENOTSUP,
                                  "process %d has a C library that attaching does not know (glibc and musl are known)",
                                  (int)target->pid);
}

// The library's pointer to a thread's record goes to libc's word. The other variables have to be zero in threads of the
// library, and must not be in those of the program, which only read them.
static int place_thread_variables(struct attaching *attaching)
{
    const struct hs_region *region = &attaching->region;
    struct hs_attach_table table;
    int failed = hs_inject_target__read(&attaching->target, attaching->image.table, &table, sizeof table);
    for (size_t i = 0; !failed && i < attaching->image.thread_entry_count; i++) {
        uint64_t entry = attaching->image.base + attaching->image.thread_entries[i];
        intptr_t offset = 0;
        failed = hs_inject_target__read(&attaching->target, entry, &offset, sizeof offset);
        bool is_self = offset == table.thread_self_at;
        offset = (intptr_t)(is_self ? region->words.word : region->words.tid);
        if (!failed)
            failed = hs_inject_target__write(&attaching->target, entry, &offset, sizeof offset);
    }
    return no_memory(attaching, failed);
}

// ---- the library ---------------------------------------------------------------------------------------------------

// Its environment is one of our own. A program without a dynamic linker has no list of modules: an empty one.
static uint64_t import(void *context, const char *name)
{
    struct attaching *attaching = context;
    if (!strcmp(name, "environ"))
        return attaching->region.settings + SETTING_ENVIRON;
    if (attaching->target.is_before_libc && (!strcmp(name, "getauxval") || !strcmp(name, "_dl_find_object")))
        return 0; // of a libc that has not begun
    uint64_t found = hs_inject_modules__find_any(&attaching->modules, name);
    if (attaching->is_glibc && !strcmp(name, "gnu_get_libc_version"))
        return attaching->region.settings; // that there is one says which libc it is
    return found || strcmp(name, "_r_debug") || hs_inject_modules__find_any(&attaching->modules, "_dl_debug_addr")
               ? found
               : attaching->region.settings + SETTING_DEBUG;
}

static void put_word(struct attaching *attaching, size_t at, uint64_t value)
{
    uintptr_t word = (uintptr_t)value;
    memcpy(attaching->settings + at, &word, sizeof word);
}

static int write_settings(struct attaching *attaching)
{
    const struct hs_inject_request *request = attaching->request;
    size_t text = SETTING_TEXT;
    put_word(attaching, SETTING_ENVIRON, attaching->region.settings + SETTING_LIST);
    for (unsigned i = 0; i < request->variable_count; i++) {
        size_t length = strlen(request->variables[i]) + 1;
        if (length > sizeof attaching->settings - text)
            return hs_error__set(attaching->error, E2BIG, "the options for the library are too long");
        put_word(attaching, SETTING_LIST + sizeof(uintptr_t) * i, attaching->region.settings + text);
        memcpy(attaching->settings + text, request->variables[i], length);
        text += length;
    }
    return 0;
}

// Seconds since the process was started.
static double age_of(pid_t pid)
{
    char path[64], line[1024];
    struct timespec now;
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    bool found = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    const char *rest = found ? strrchr(line, ')') : NULL;
    if (!rest || sscanf(rest + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                        &ticks) != 1)
        return 0;
    clock_gettime(CLOCK_BOOTTIME, &now);
    double age = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return age > 0 ? age : 0;
}

static int prepare_hooks(struct attaching *attaching)
{
    struct hs_hooks *hooks = &attaching->hooks;
    hooks->target = &attaching->target;
    hooks->modules = &attaching->modules;
    hooks->image = &attaching->image;
    hooks->region = &attaching->region;
    hooks->adopted = (uintptr_t)hs_inject_image__table(&attaching->image)->adopted;
    hooks->is_starting = attaching->target.is_before_libc;
    if (hs_hooks__add_area(hooks, attaching->region.at + HS_REGION_ISLANDS))
        return hs_error__set(attaching->error, ENOMEM, "out of memory");
    return hs_hooks__prepare(hooks, attaching->error);
}

// New memory is zero. Most of the library's data is, too, and takes no memory before it is used.
static int write_image(const struct attaching *attaching)
{
    static const uint8_t zeros[PAGE];
    const struct hs_inject_image *image = &attaching->image;
    int failed = 0;
    for (size_t at = 0, end; at < image->size && !failed; at = end) {
        bool is_zero = !memcmp(image->bytes + at, zeros, PAGE);
        for (end = at + PAGE; end < image->size && is_zero == !memcmp(image->bytes + end, zeros, PAGE);)
            end += PAGE;
        if (!is_zero)
            failed = hs_inject_target__write(&attaching->target, image->base + at, image->bytes + at, end - at);
    }
    return failed;
}

static int write_region(struct attaching *attaching)
{
    const struct hs_inject_target *target = &attaching->target;
    struct hs_region *region = &attaching->region;
    struct hs_hooks *hooks = &attaching->hooks;
    int failed = write_settings(attaching);
    if (!failed)
        failed = hs_inject_image__relocate(&attaching->image, target->arch, region->at + HS_REGION_IMAGE, FIRST_OFFSET,
                                           import, attaching, attaching->error);
    if (!failed)
        failed = prepare_hooks(attaching);
    if (failed)
        return failed;
    struct hs_attach_table *table = hs_inject_image__table(&attaching->image);
    table->thread_word = (intptr_t)region->words.word;
    region->no_record = table->no_record;
    region->number_at = (uint32_t)table->number_at;
    region->is_sampler = attaching->request->samples;
    uint8_t *trusted = hs_inject_image__at(&attaching->image, (uintptr_t)table->trusted, 1);
    if (trusted)
        *trusted = 1;
    char *info = hs_inject_image__at(&attaching->image, (uintptr_t)table->info, HS_ATTACH_INFO);
    if (info && !target->is_starting)
        snprintf(info, HS_ATTACH_INFO, "%.0f", age_of(target->pid) * 1e9);
    char *names = hs_inject_image__at(&attaching->image, (uintptr_t)table->adopted_names, HS_ATTACH_NAMES);
    if (names)
        snprintf(names, HS_ATTACH_NAMES, "%s", attaching->result->allocators);
    region->end = (uintptr_t)table->end;
    failed = hs_hooks__write(hooks);
    if (!failed)
        failed = write_image(attaching);
    if (!failed)
        failed = hs_inject_target__write(target, region->settings, attaching->settings, sizeof attaching->settings);
    // From now on a detach can end it, also if this process is killed.
    region->state = HS_REGION_ATTACHED;
    if (!failed)
        failed = hs_region__write(region, target);
    return no_memory(attaching, failed);
}

static bool is_recording(const struct attaching *attaching)
{
    uintptr_t shared = 0;
    uint32_t mode = 0;
    return !hs_inject_target__read(&attaching->target, (uintptr_t)hs_inject_image__table(&attaching->image)->mode,
                                   &shared, sizeof shared) &&
           !hs_inject_target__read(&attaching->target, shared, &mode, sizeof mode) && mode;
}

// Runs beside the program.
static int begin(struct attaching *attaching)
{
    struct hs_inject_target *target = &attaching->target;
    const struct hs_attach_table *table = hs_inject_image__table(&attaching->image);
    uint64_t before = hs_clock__now();
    int failed = hs_inject_stop__one(target, attaching->error);
    if (!failed)
        failed = hs_region__start(&attaching->region, target, (uintptr_t)table->begin, attaching->error);
    hs_inject_target__let_go(target);
    if (!failed)
        failed = hs_region__wait(&attaching->region, target, BEGIN_SECONDS, attaching->error);
    attaching->result->begin_ns = hs_clock__now() - before;
    if (!failed && !attaching->request->begins_idle && !is_recording(attaching))
        failed =
            hs_error__set(attaching->error, EACCES,
                          "process %d cannot record; often it may not create the trace: name a folder that its user "
                          "can write to with --output (--log-file says more)",
                          (int)target->pid);
    return failed ? failed : place_thread_variables(attaching);
}

// ---- the patches ---------------------------------------------------------------------------------------------------

static void wait_a_moment(void)
{
    const struct timespec pause = {0, 500000};
    nanosleep(&pause, NULL);
}

// Stops all threads at a moment when none is in the way, and none ends. They are stopped afterwards.
static int stop_outside(struct attaching *attaching)
{
    struct hs_inject_target *target = &attaching->target;
    enum hs_region_check check = HS_REGION_BUSY;
    for (int tries = 0; tries < STOP_TRIES; tries++) {
        int failed = hs_inject_stop__all(target, attaching->error);
        if (failed)
            return failed;
        check = hs_region__check(&attaching->region, target);
        if (check == HS_REGION_GOOD)
            return 0;
        hs_inject_target__let_go(target);
        if (hs_inject_target__is_gone(target))
            return hs_error__set(attaching->error, ESRCH, "process %d has ended", (int)target->pid);
        wait_a_moment();
    }
    if (check == HS_REGION_UNFIT)
        return hs_error__set(attaching->error, ENOTSUP,
                             "a thread of process %d is not one of a C library that attaching knows", (int)target->pid);
    return hs_error__set(attaching->error, EBUSY, "a thread of process %d stays in the allocator's first instructions",
                         (int)target->pid);
}

static int patch(struct attaching *attaching)
{
    struct hs_inject_target *target = &attaching->target;
    int failed = stop_outside(attaching);
    if (!failed) {
        hs_cave__empty_all(target);
        unsigned count;
        if ((failed = hs_region__patch(&attaching->region, target)))
            hs_region__unpatch(&attaching->region, target, &count);
        failed = no_memory(attaching, failed);
    }
    attaching->result->threads = (unsigned)target->thread_count;
    hs_inject_target__let_go(target);
    attaching->result->pause_ns = hs_clock__now() - target->stopped_since;
    attaching->result->patches = attaching->region.patch_count;
    return failed;
}

// The library has started, but its functions are not called: ends it.
static int take_back(struct attaching *attaching, int failed)
{
    if (failed == -ETIMEDOUT || (failed == -EINTR && attaching->region.thread))
        return failed; // a thread is still at it: that is for a detach
    if (!attaching->region.thread) {
        attaching->region.state = HS_REGION_DETACHED;
        hs_region__write(&attaching->region, &attaching->target);
        return failed;
    }
    if (!hs_inject_stop__one(&attaching->target, NULL)) {
        int started = hs_region__end(&attaching->region, &attaching->target, NULL);
        hs_inject_target__let_go(&attaching->target);
        if (!started)
            hs_region__wait_for_end(&attaching->region, &attaching->target, BEGIN_SECONDS, NULL);
    }
    return failed;
}

// ---- all of it -----------------------------------------------------------------------------------------------------

// The library has to be able to tell further allocators from libc's.
static int leave_out_sets(struct attaching *attaching)
{
    struct hs_hooks *hooks = &attaching->hooks;
    const struct hs_named_allocators *named = &attaching->request->named;
    if (!attaching->target.arch->has_no_adopted || !hooks->sets.count)
        return 0;
    if (!hooks->allocator || named->prefixes || named->places)
        return hs_error__set(attaching->error, ENOTSUP,
                             "on this machine, no allocator but the C library's is recorded");
    hs_hooks__leave_out(hooks);
    return 0;
}

static const char *why_none(const struct hs_inject_modules *modules)
{
    if (!hs_inject_modules__is_static(modules))
        return "";
    return hs_inject_modules__has_symbols(modules)
               ? " (a statically linked program, with a table of symbols: name the functions of its allocator with "
                 "--allocator-symbols or --allocator-at; Zig's and Go's own allocators cannot be recorded)"
               : " (a statically linked program needs its table of symbols, which strip removes, or --allocator-at)";
}

// *near becomes the address of a function that gives out memory.
static int find_allocators(struct attaching *attaching, uint64_t *near)
{
    struct hs_hooks *hooks = &attaching->hooks;
    hooks->result = attaching->result;
    hooks->allocator = hs_hooks__allocator(&attaching->modules, near);
    int failed =
        hs_families__find(&hooks->sets, &attaching->modules, false, &attaching->request->named, attaching->error);
    if (!failed)
        failed = leave_out_sets(attaching);
    if (failed)
        return failed;
    const struct hs_inject_module *module = hooks->allocator;
    if (!module && hooks->sets.count) {
        module = hooks->sets.each[0].module;
        *near = hooks->sets.each[0].each[0].function.address;
    }
    if (!module)
        return hs_error__set(attaching->error, ENOTSUP, "process %d has no function malloc that can be found by name%s",
                             (int)attaching->target.pid, why_none(&attaching->modules));
    snprintf(attaching->result->allocator, sizeof attaching->result->allocator, "%s", module->path);
    return 0;
}

static int look_at_target(struct attaching *attaching, uint64_t *malloc_at)
{
    struct hs_region other;
    if (attaching->target.arch->has_no_adopted && attaching->request->samples)
        return hs_error__set(attaching->error, ENOTSUP,
                             "on this machine, a running process is recorded, not sampled: attach without --sample");
    int failed = hs_inject_target__read_mappings(&attaching->target, attaching->error);
    if (!failed)
        failed = hs_inject_modules__open(&attaching->modules, &attaching->target, attaching->error);
    if (failed)
        return failed;
    for (size_t i = 0; i < attaching->modules.count; i++)
        if (attaching->modules.each[i].role == HS_INJECT_MODULE_OURS)
            return hs_error__set(attaching->error, EALREADY, "process %d is recorded already, by %s",
                                 (int)attaching->target.pid, attaching->modules.each[i].path);
    if (hs_region__find(&other, &attaching->target))
        return hs_error__set(attaching->error, EALREADY, "process %d is %s already; '%s %d' ends that",
                             (int)attaching->target.pid, other.is_sampler ? "sampled" : "recorded",
                             attaching->request->detach ? attaching->request->detach : "heapsonde detach",
                             (int)attaching->target.pid);
    return find_allocators(attaching, malloc_at);
}

static int attach(struct attaching *attaching)
{
    uint64_t malloc_at = 0;
    const struct hs_inject_request *request = attaching->request;
    int failed = look_at_target(attaching, &malloc_at);
    if (!failed)
        failed = hs_inject_image__open(&attaching->image, request->library, attaching->target.arch->machine,
                                       attaching->error);
    if (!failed)
        failed = attaching->target.is_before_libc ? guess_words(attaching) : find_words(attaching);
    if (!failed)
        failed = map_region(attaching, malloc_at);
    if (!failed)
        failed = write_region(attaching);
    if (failed)
        return failed;
    failed = begin(attaching);
    if (!failed)
        failed = patch(attaching);
    return failed ? take_back(attaching, failed) : 0;
}

// Whether the dynamic linker has loaded all, and initialised nothing but the C library. musl's calls the function only
// then; that of glibc says in its list of modules how far it is.
static bool has_loaded(struct attaching *attaching)
{
    uint64_t list = hs_inject_modules__find_any(&attaching->modules, "_r_debug");
    struct r_debug debug;
    return !list || (!hs_inject_target__read(&attaching->target, list, &debug, sizeof debug) &&
                     debug.r_state == RT_CONSISTENT && debug.r_map);
}

// What is missing in a process that executes a program just now comes with its libraries.
static int explain_start(struct attaching *attaching, int failed)
{
    if (failed != -ENOTSUP || hs_inject_modules__is_static(&attaching->modules) || has_loaded(attaching))
        return failed;
    return hs_error__set(attaching->error, EAGAIN, "process %d has just begun to load its program; try again",
                         (int)attaching->target.pid);
}

static struct attaching *create(const struct hs_inject_request *request, struct hs_inject_result *result,
                                struct hs_error *error)
{
    struct attaching *attaching = calloc(1, sizeof *attaching);
    *result = (struct hs_inject_result){0};
    if (attaching)
        *attaching = (struct attaching){.request = request, .result = result, .error = error, .target = {.memory = -1}};
    else
        hs_error__set(error, ENOMEM, "out of memory");
    return attaching;
}

static void release(struct attaching *attaching)
{
    hs_hooks__free(&attaching->hooks);
    hs_inject_image__close(&attaching->image);
    hs_inject_modules__close(&attaching->modules);
    hs_inject_target__close(&attaching->target);
    free(attaching);
}

int hs_inject__attach(const struct hs_inject_request *request, struct hs_inject_result *result, struct hs_error *error)
{
    struct attaching *attaching = create(request, result, error);
    if (!attaching)
        return -ENOMEM;
    int failed = hs_permission__take(&attaching->target, request->pid, error);
    if (!failed)
        failed = hs_seccomp__check(&attaching->target, request, error);
    if (!failed)
        failed = explain_start(attaching, attach(attaching));
    if (failed && hs_inject_target__is_gone(&attaching->target))
        failed =
            hs_error__set(error, ESRCH, "process %d has ended, or has executed another program", (int)request->pid);
    release(attaching);
    return failed;
}

int hs_inject__start(const struct hs_inject_request *request, struct hs_inject_result *result, bool *executed,
                     struct hs_error *error)
{
    struct attaching *attaching = create(request, result, error);
    *executed = false;
    if (!attaching)
        return -ENOMEM;
    int failed = hs_inject_steer__start(&attaching->target, request->pid, executed, error);
    attaching->target.is_before_libc = true;
    if (!failed && *executed)
        failed = attach(attaching);
    if (failed && *executed && !hs_inject_target__is_held(&attaching->target))
        failed = hs_error__set(error, ESRCH, "process %d has ended", (int)request->pid);
    if (failed)
        kill(request->pid, SIGKILL);
    release(attaching);
    return failed;
}

// ---- programs of traced processes ----------------------------------------------------------------------------------

enum { MOST_STATES = 8 };

// Debuggers stop the dynamic linker there, too.
static int load_libraries(struct attaching *attaching)
{
    struct hs_inject_target *target = &attaching->target;
    const struct hs_trap_signal signal = hs_trap_signal__of(target);
    uint64_t stop = hs_inject_modules__find_any(&attaching->modules, "_dl_debug_state");
    int failed = stop ? 0 : hs_error__set(attaching->error, ENOTSUP, "its dynamic linker is not known");
    int tries = 0;
    for (; !failed; tries++) {
        failed = hs_inject_steer__run_to(target, stop, attaching->error);
        if (failed || has_loaded(attaching))
            break;
        failed = tries < MOST_STATES ? hs_inject_steer__step(target, attaching->error)
                                     : hs_error__set(attaching->error, ENOTSUP, "its dynamic linker is not known");
    }
    if (!failed)
        return hs_trap_signal__put_back(target, &signal, attaching->error);
    // After a first trap; not where it has ended or executed another program.
    if (tries && failed != -ESRCH)
        hs_trap_signal__put_back(target, &signal, NULL);
    return failed;
}

// A filter that this command has, too, lets pass what is recorded without ptrace.
static bool has_more_filters(pid_t pid)
{
    char own[16] = "0", others[16] = "0";
    hs_inject_target__status(getpid(), "Seccomp_filters", own, sizeof own);
    hs_inject_target__status(pid, "Seccomp_filters", others, sizeof others);
    return strcmp(own, others);
}

static int join(struct attaching *attaching)
{
    struct hs_inject_target *target = &attaching->target;
    int failed = has_more_filters(target->pid) ? hs_seccomp__check(target, attaching->request, attaching->error) : 0;
    if (!failed)
        failed = hs_inject_target__read_mappings(target, attaching->error);
    if (!failed)
        failed = hs_inject_modules__open(&attaching->modules, target, attaching->error);
    attaching->target.is_before_libc = hs_inject_modules__is_static(&attaching->modules);
    if (!failed && !attaching->target.is_before_libc)
        failed = load_libraries(attaching);
    hs_inject_modules__close(&attaching->modules);
    return failed ? failed : attach(attaching);
}

int hs_inject__join(const struct hs_inject_request *request, struct hs_inject_result *result, struct hs_error *error)
{
    struct attaching *attaching = create(request, result, error);
    bool executed = false;
    if (!attaching)
        return -ENOMEM;
    int failed = hs_inject_steer__hold(&attaching->target, request->pid, &executed, error);
    attaching->target.is_joined = true;
    if (!failed)
        failed = executed ? join(attaching) : hs_error__set(error, ESRCH, "process %d has ended", (int)request->pid);
    if (failed && failed != -EALREADY && hs_inject_target__is_gone(&attaching->target))
        failed = -ESRCH;
    hs_inject_target__keep(&attaching->target);
    release(attaching);
    return failed;
}

bool hs_inject__is_supported(void)
{
    return hs_inject_arch__native() != NULL;
}

// The threads cannot be stopped while they do so. *tid becomes one of them.
static bool all_wait_in_kernel(const struct hs_inject_target *target, pid_t *tid)
{
    char path[64];
    bool all = true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    *tid = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && all && (entry = readdir(folder));) {
        const pid_t found = (pid_t)atoi(entry->d_name);
        if (found <= 0 || hs_inject_waiting__is_ending(target, found))
            continue;
        *tid = found;
        all = hs_inject_waiting__state(target, found) == 'D';
    }
    if (folder)
        closedir(folder);
    return all && *tid;
}

// As an attach would say after a longer time: for a child of vfork, or a file system that does not answer.
static int check_waiting(const struct hs_inject_target *target, struct hs_error *error)
{
    const struct timespec pause = {0, WAITING_PAUSE_NS};
    pid_t tid;
    for (int looks = 0; looks < WAITING_LOOKS; looks++) {
        if (!all_wait_in_kernel(target, &tid))
            return 0;
        nanosleep(&pause, NULL);
    }
    return hs_error__set(error, EBUSY, "thread %d waits in the kernel and cannot be stopped; try again later",
                         (int)tid);
}

int hs_inject__examine(pid_t pid, bool samples, struct hs_error *error)
{
    const struct hs_inject_request request = {.pid = pid, .samples = samples};
    struct hs_inject_result result;
    uint64_t malloc_at;
    int failed = hs_permission__check(pid, error);
    struct attaching *attaching = failed ? NULL : create(&request, &result, error);
    if (!attaching)
        return failed ? failed : -ENOMEM;
    failed = hs_inject_target__open(&attaching->target, pid, error);
    if (!failed)
        failed = check_waiting(&attaching->target, error);
    if (!failed)
        failed = hs_seccomp__check(&attaching->target, &request, error);
    if (!failed)
        failed = explain_start(attaching, look_at_target(attaching, &malloc_at));
    release(attaching);
    return failed;
}
