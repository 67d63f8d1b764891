// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/region.h"

#include "host/base/search.h"
#include "host/inject/steer.h"
#include "host/inject/stop.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum { STACK_LOOKED_AT = 0x4000, WORDS_LOOKED_AT = 2048, TOP_OF_STACK = 256, WAIT_NS = 200000 };
enum { FIRST_RESTART = -512 }; // from there on: results of system calls that the kernel begins again

// It comes from the target and may say anything.
static bool is_sound(const struct hs_region *region)
{
    if (region->magic != HS_REGION_MAGIC || region->patch_count > HS_REGION_PATCHES)
        return false;
    for (uint32_t i = 0; i < region->patch_count; i++)
        if (region->patches[i].length > HS_INJECT_PATCH)
            return false;
    return true;
}

static bool find(struct hs_region *region, const struct hs_inject_target *target, bool is_over)
{
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct hs_inject_mapping *mapping = &target->mappings[i];
        if (mapping->path[0] || !mapping->is_executable || mapping->is_writable)
            continue;
        if (!hs_inject_target__read(target, mapping->start, region, sizeof *region) && is_sound(region) &&
            region->at == mapping->start && (is_over || region->state != HS_REGION_DETACHED))
            return true;
    }
    return false;
}

bool hs_region__find(struct hs_region *region, const struct hs_inject_target *target)
{
    return find(region, target, false);
}

bool hs_region__was_there(const struct hs_inject_target *target)
{
    struct hs_region region;
    return find(&region, target, true);
}

int hs_region__write(const struct hs_region *region, const struct hs_inject_target *target)
{
    return hs_inject_target__write(target, region->at, region, sizeof *region);
}

// ---- a thread of our own -------------------------------------------------------------------------------------------

int hs_region__start(struct hs_region *region, struct hs_inject_target *target, uint64_t function,
                     struct hs_error *error)
{
    static uint8_t zeros[HS_REGION_LOCAL]; // not const: then it takes no room in the file
    uintptr_t pointer = (uintptr_t)region->local + HS_REGION_LOCAL / 2;
    uint64_t top = region->local + HS_REGION_LOCAL + HS_REGION_STACK - TOP_OF_STACK;
    uint32_t done = 0, number = 1;
    struct hs_system_call call = {SYS_clone, {HS_REGION_THREAD_FLAGS, (long)top}};
    long tid = 0;
    int failed = hs_inject_target__write(target, region->local, zeros, sizeof zeros);
    if (!failed)
        failed = hs_inject_target__write(target, pointer, &pointer, sizeof pointer);
    if (!failed) // it has the filters of the thread that creates it: for the library, it is the program's
        failed = hs_inject_target__write(target, pointer + (uint64_t)region->words.tid, &number, sizeof number);
    if (!failed)
        failed = hs_inject_target__write(target, top, &function, sizeof function);
    if (!failed)
        failed = hs_inject_target__write(target, hs_region__done(region), &done, sizeof done);
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    call.arguments[target->arch->clone_pointer] = (long)pointer;
    failed = hs_inject_steer__call(target, region->at + HS_REGION_STUB, hs_region__done(region), &call, &tid, error);
    if (!failed && tid <= FIRST_RESTART)
        return hs_error__set(error, EINTR, "a signal has stopped process %d meanwhile", (int)target->pid);
    if (!failed && tid < 0)
        return hs_error__set(error, (int)-tid, "process %d cannot create a thread: %s", (int)target->pid,
                             strerror((int)-tid));
    region->thread = (uint32_t)tid;
    return failed;
}

// By a signal that stops processes. Others wait for a program that starts: its thread goes on when the process does.
static bool is_stopped(const struct hs_inject_target *target, uint32_t thread)
{
    char state[32];
    return hs_inject_target__status((pid_t)thread, "State", state, sizeof state) && state[0] == 'T' &&
           !target->has_own_numbers;
}

int hs_region__wait(const struct hs_region *region, const struct hs_inject_target *target, unsigned seconds,
                    struct hs_error *error)
{
    struct timespec pause = {0, WAIT_NS}, now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        uint32_t done = 0;
        int failed = hs_inject_target__read(target, hs_region__done(region), &done, sizeof done);
        if (failed)
            return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
        if (done && !hs_inject_target__has_thread(target, (pid_t)region->thread))
            return 0;
        if (target->is_starting && is_stopped(target, region->thread))
            return hs_error__set(error, EINTR, "a signal has stopped process %d meanwhile", (int)target->pid);
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec <= (time_t)seconds);
    return hs_error__set(error, ETIMEDOUT, "the %s library does not answer in process %d",
                         region->is_sampler ? "sampling" : "recording", (int)target->pid);
}

bool hs_region__is_in_use(const struct hs_region *region, const struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        struct hs_thread_stop *thread = &target->threads[i];
        if (!hs_inject_stop__see(target, thread))
            continue;
        bool is_ours = thread->sp >= region->local && thread->sp <= region->local + HS_REGION_LOCAL + HS_REGION_STACK;
        if (is_ours || (thread->pc >= region->at + HS_REGION_STUB && thread->pc < region->at + HS_REGION_ISLANDS))
            return true;
    }
    return false;
}

// The word says whether the end has been reached. It is set back first, so that it cannot say so of an earlier call.
int hs_region__end(struct hs_region *region, struct hs_inject_target *target, struct hs_error *error)
{
    uint32_t done = 0;
    int failed = 0;
    if (region->state == HS_REGION_ENDING)
        failed = hs_inject_target__read(target, hs_region__done(region), &done, sizeof done);
    else
        failed = hs_inject_target__write(target, hs_region__done(region), &done, sizeof done);
    region->state = HS_REGION_ENDING;
    if (!failed)
        failed = hs_region__write(region, target);
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    return done ? 0 : hs_region__start(region, target, region->end, error);
}

int hs_region__wait_for_end(struct hs_region *region, const struct hs_inject_target *target, unsigned seconds,
                            struct hs_error *error)
{
    int failed = hs_region__wait(region, target, seconds, error);
    if (failed)
        return failed;
    region->state = HS_REGION_DETACHED;
    failed = hs_region__write(region, target);
    return failed ? hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid) : 0;
}

// ---- patches -------------------------------------------------------------------------------------------------------

static uint64_t end_of(const struct hs_region_patch *patch)
{
    return patch->at + patch->consumed;
}

static bool is_inside(const struct hs_region *region, uint64_t address)
{
    const struct hs_region_patch *patches = region->patches;
    const size_t count = region->patch_count;
    if (!count || address <= patches[0].at || address >= end_of(&patches[count - 1]))
        return false;
    return address < end_of(&patches[HS_SEARCH(count, i, patches[i].at < address) - 1]);
}

// A signal handler that runs in the thread returns to what it has interrupted, and the stack says where that is. At the
// upper end of most stacks is the thread control block. To read beyond it would bring in further pages.
static bool returns_inside(const struct hs_region *region, const struct hs_inject_target *target,
                           const struct hs_thread_stop *thread)
{
    uintptr_t words[STACK_LOOKED_AT / sizeof(uintptr_t)];
    const uint64_t sp = thread->sp & ~(uint64_t)7;
    const bool has_end = thread->pointer > sp && thread->pointer - sp < sizeof words;
    size_t length = hs_inject_target__read_some(target, sp, words, has_end ? thread->pointer - sp : sizeof words);
    for (size_t i = 0; i < length / sizeof *words; i++)
        if (is_inside(region, words[i]))
            return true;
    return false;
}

// The program does not call the library before the patches are there. Until then, a thread that is in the library, or
// was called by it, is one of the library's own threads, which have no thread control block of libc.
static bool is_librarys(const struct hs_region *region, const struct hs_inject_target *target, uint64_t pc, uint64_t sp)
{
    uintptr_t words[STACK_LOOKED_AT / sizeof(uintptr_t)];
    if (pc >= region->at && pc < region->at + region->size)
        return true;
    size_t length = hs_inject_target__read_some(target, sp & ~(uint64_t)7, words, sizeof words);
    for (size_t i = 0; i < length / sizeof *words; i++)
        if (words[i] >= region->at && words[i] < region->at + region->size)
            return true;
    return false;
}

static bool read_words(const struct hs_region *region, const struct hs_inject_target *target,
                       struct hs_thread_stop *thread, uint32_t *number)
{
    const struct hs_thread_words *words = &region->words;
    uint8_t bytes[WORDS_LOOKED_AT];
    const int64_t first = words->word < words->tid ? words->word : words->tid;
    const uint64_t word_at = (uint64_t)(words->word - first), number_at = (uint64_t)(words->tid - first);
    const uint64_t end = (word_at > number_at ? word_at : number_at) + sizeof thread->word;
    if (end <= sizeof bytes && !hs_inject_target__read(target, thread->pointer + (uint64_t)first, bytes, end)) {
        memcpy(&thread->word, bytes + word_at, sizeof thread->word);
        memcpy(number, bytes + number_at, sizeof *number);
        return true;
    }
    return !hs_inject_target__read(target, thread->pointer + (uint64_t)words->word, &thread->word,
                                   sizeof thread->word) &&
           !hs_inject_target__read(target, thread->pointer + (uint64_t)words->tid, number, sizeof *number);
}

static enum hs_region_check check_thread(const struct hs_region *region, const struct hs_inject_target *target,
                                         struct hs_thread_stop *thread)
{
    uint32_t number = 0;
    if (!hs_inject_stop__see(target, thread))
        return HS_REGION_BUSY;
    if (is_inside(region, thread->pc) || (target->has_handlers && returns_inside(region, target, thread)))
        return HS_REGION_BUSY;
    if (!thread->pointer)
        return HS_REGION_GOOD; // libc has not begun
    const bool is_read = read_words(region, target, thread, &number);
    if (thread->word >= region->at && thread->word < region->at + region->size)
        return HS_REGION_GOOD; // one of the library
    if (!is_read || (thread->word && !region->follows_another) ||
        number != (uint32_t)hs_inject_target__own_tid(target, thread->tid))
        return is_librarys(region, target, thread->pc, thread->sp) ? HS_REGION_GOOD : HS_REGION_UNFIT;
    return HS_REGION_GOOD;
}

enum hs_region_check hs_region__check(const struct hs_region *region, const struct hs_inject_target *target)
{
    enum hs_region_check worst = HS_REGION_GOOD;
    for (size_t i = 0; i < target->thread_count && worst == HS_REGION_GOOD; i++)
        worst = check_thread(region, target, &target->threads[i]);
    return worst;
}

static void clear_words(const struct hs_region *region, const struct hs_inject_target *target)
{
    const uintptr_t zero = 0;
    for (size_t i = 0; i < target->thread_count; i++) {
        struct hs_thread_stop *thread = &target->threads[i];
        if (hs_inject_stop__see(target, thread) && thread->pointer)
            hs_inject_target__write(target, thread->pointer + (uint64_t)region->words.word, &zero, sizeof zero);
    }
}

// A pointer of an earlier recording may be used as long as its thread is in that library. It is cleared here only if it
// looks like one of this recording; otherwise the island clears it at the thread's next call.
static void clear_mistakable_words(const struct hs_region *region, const struct hs_inject_target *target)
{
    const uintptr_t none = (uintptr_t)region->no_record;
    for (size_t i = 0; i < target->thread_count; i++) {
        const struct hs_thread_stop *thread = &target->threads[i];
        uint32_t number = 0;
        if (!thread->word)
            continue;
        if (!hs_inject_target__read(target, thread->word + region->number_at, &number, sizeof number) &&
            number != (uint32_t)hs_inject_target__own_tid(target, thread->tid))
            continue;
        hs_inject_target__write(target, thread->pointer + (uint64_t)region->words.word, &none, sizeof none);
    }
}

int hs_region__patch(const struct hs_region *region, const struct hs_inject_target *target)
{
    clear_mistakable_words(region, target);
    return hs_region__write_patches(region, target);
}

int hs_region__write_patches(const struct hs_region *region, const struct hs_inject_target *target)
{
    int failed = 0;
    for (uint32_t i = 0; i < region->patch_count && !failed; i++) {
        const struct hs_region_patch *patch = &region->patches[i];
        failed = hs_inject_target__write(target, patch->at, patch->new, patch->length);
    }
    return failed;
}

// What somebody else has changed since is left alone.
int hs_region__unpatch(const struct hs_region *region, const struct hs_inject_target *target, unsigned *count)
{
    int failed = 0;
    *count = 0;
    for (uint32_t i = 0; i < region->patch_count && !failed; i++) {
        const struct hs_region_patch *patch = &region->patches[i];
        uint8_t now[HS_INJECT_PATCH];
        if (hs_inject_target__read(target, patch->at, now, patch->length) || memcmp(now, patch->new, patch->length))
            continue;
        failed = hs_inject_target__write(target, patch->at, patch->old, patch->length);
        *count += !failed;
    }
    if (!region->no_record)
        clear_words(region, target);
    return failed;
}
