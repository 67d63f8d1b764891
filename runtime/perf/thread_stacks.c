// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/perf/thread_stacks.h"

#include "arch/system.h"
#include "runtime/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

enum { LINE_ROOM = 4096 + 256, STACK_NAME = 6, PAGE_SHIFT = 12 };

#define NO_TID (UINT32_C(1) << 31)

static bool is_known(struct hs_thread_stacks *stacks, uint64_t address)
{
    for (uint32_t i = 0, at = stacks->last; i < stacks->count; i++, at = at + 1 < stacks->count ? at + 1 : 0)
        if (address >= stacks->known[at].start && address < stacks->known[at].end) {
            stacks->last = at;
            return true;
        }
    return false;
}

static bool is_noted(const struct hs_thread_stacks *stacks, uint32_t key)
{
    for (uint32_t i = 0; i < stacks->wanted_count; i++)
        if (stacks->wanted[i].key == key)
            return true;
    return false;
}

static bool note(struct hs_thread_stacks *stacks, uint32_t key, uint64_t address)
{
    if (stacks->failed || is_known(stacks, address) || is_noted(stacks, key))
        return true;
    if (stacks->wanted_count == HS_THREAD_STACKS_WANTED)
        return false;
    stacks->wanted[stacks->wanted_count].address = address;
    stacks->wanted[stacks->wanted_count++].key = key;
    return true;
}

bool hs_thread_stacks__see(struct hs_thread_stacks *stacks, uint32_t tid, uint64_t address)
{
    return note(stacks, tid, address);
}

bool hs_thread_stacks__see_own(struct hs_thread_stacks *stacks, uint64_t address)
{
    return note(stacks, (uint32_t)(address >> PAGE_SHIFT) | NO_TID, address);
}

static bool is_wanted(const struct hs_thread_stacks *stacks, const struct hs_maps_line *mapping)
{
    for (uint32_t i = 0; i < stacks->wanted_count; i++)
        if (stacks->wanted[i].address >= mapping->start && stacks->wanted[i].address < mapping->end)
            return true;
    return false;
}

// Without a name, or [stack], or [anon:...] of a program that names its memory: no file, and not the heap.
static bool may_be_stack(const struct hs_maps_line *mapping)
{
    return !mapping->path_length || (mapping->path_length >= STACK_NAME && mapping->path[0] == '[' &&
                                     (mapping->path[1] == 's' || mapping->path[1] == 'a'));
}

static void take(struct hs_thread_stacks *stacks, const struct hs_maps_line *mapping,
                 void (*found)(uint64_t start, uint64_t end))
{
    if (!may_be_stack(mapping) || !is_wanted(stacks, mapping) || is_known(stacks, mapping->start))
        return;
    stacks->known[stacks->next].start = mapping->start;
    stacks->known[stacks->next].end = mapping->end;
    stacks->last = stacks->next;
    stacks->next = (stacks->next + 1) % HS_THREAD_STACKS_KNOWN;
    stacks->count += stacks->count < HS_THREAD_STACKS_KNOWN;
    found(mapping->start, mapping->end);
}

// Returns the length of the lines that are complete.
static size_t take_lines(struct hs_thread_stacks *stacks, char *text, size_t length,
                         void (*found)(uint64_t start, uint64_t end))
{
    size_t done = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\n')
            continue;
        struct hs_maps_line mapping;
        hs_maps_line__parse(&mapping, text + done);
        take(stacks, &mapping, found);
        done = i + 1;
    }
    return done;
}

void hs_thread_stacks__find(struct hs_thread_stacks *stacks, const char *path,
                            void (*found)(uint64_t start, uint64_t end))
{
    char text[LINE_ROOM];
    size_t filled = 0;
    if (!stacks->wanted_count || stacks->failed)
        return;
    const long fd = hs_system_open(path, O_RDONLY | O_CLOEXEC, 0);
    stacks->failed = fd == -ENOENT || fd == -EACCES;
    if (fd < 0 && !stacks->failed)
        return; // too many files are open, or the like: what is wanted is searched the next time
    for (long got; fd >= 0 && (got = hs_system_read((int)fd, text + filled, sizeof text - filled)) > 0;) {
        filled += (size_t)got;
        const size_t done = take_lines(stacks, text, filled, found);
        filled = done || filled < sizeof text ? filled - done : 0;
        __builtin_memmove(text, text + done, filled);
    }
    if (fd >= 0)
        hs_system_close((int)fd);
    stacks->wanted_count = 0;
}
