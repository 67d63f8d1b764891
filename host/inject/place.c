// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/place.h"

#include "host/inject/cave.h"
#include "host/inject/steer.h"
#include "host/inject/stop.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { GAP = 0x10000, HOLE_TRIES = 20 };

static uint64_t hole_below(const struct hs_inject_target *target, uint64_t near, uint64_t size, uint64_t reach)
{
    uint64_t at = near > reach + GAP ? near - reach : GAP, found = 0;
    while (!hs_inject_arch__is_segment(target->arch, at, near))
        at = near >> target->arch->segment_bits << target->arch->segment_bits;
    for (size_t i = 0; i < target->mapping_count && target->mappings[i].start < near; i++) {
        const struct hs_inject_mapping *mapping = &target->mappings[i];
        if (mapping->start > at && mapping->start - at >= size + 2 * GAP)
            found = (mapping->start - size - GAP) & ~(uint64_t)(GAP - 1);
        if (mapping->end > at)
            at = mapping->end;
    }
    return found;
}

// Behind the heap there has to be room for it to grow.
static uint64_t hole_above(const struct hs_inject_target *target, uint64_t near, uint64_t size, uint64_t reach)
{
    for (size_t i = 0; i + 1 < target->mapping_count; i++) {
        const struct hs_inject_mapping *mapping = &target->mappings[i];
        uint64_t room = strcmp(mapping->path, "[heap]") ? GAP : target->arch->reach / 2;
        uint64_t at = (mapping->end + room + GAP - 1) & ~(uint64_t)(GAP - 1), next = mapping[1].start;
        if (mapping->end <= near)
            continue;
        if (at + size + GAP <= next && at + size - near < reach &&
            hs_inject_arch__is_segment(target->arch, at + size, near))
            return at;
    }
    return 0;
}

static uint64_t find_hole(const struct hs_inject_target *target, uint64_t near, uint64_t size)
{
    uint64_t reach = target->arch->reach, found = hole_below(target, near, size, reach);
    if (!found)
        found = hole_above(target, near, size, reach);
    if (!found && target->arch->has_far_patch)
        found = hole_below(target, near, size, UINT32_MAX);
    return found ? found : target->arch->has_far_patch ? hole_above(target, near, size, UINT32_MAX) : 0;
}

// What killed commands have left there is removed where no other bytes are unused.
static uint64_t find_cave(struct hs_inject_target *target, uint64_t near)
{
    uint64_t cave = hs_cave__find(target, near);
    if (cave)
        return cave;
    if (!hs_inject_stop__all(target, NULL))
        hs_cave__empty_all(target);
    hs_inject_target__let_go(target);
    return hs_cave__find(target, near);
}

static int no_room(const struct hs_inject_target *target, struct hs_error *error)
{
    return hs_error__set(error, ENOMEM, "process %d has no free addresses near its allocator", (int)target->pid);
}

static int cannot_map(const struct hs_inject_target *target, int problem, struct hs_error *error)
{
    return hs_error__set(error, problem, "process %d cannot map memory: %s", (int)target->pid, strerror(problem));
}

// Addresses may be negative numbers, too.
static bool is_error(long result)
{
    return (unsigned long)result >= -4095ul;
}

// Where the kernel likes.
static int map_anywhere(struct hs_inject_target *target, uint64_t size, uint64_t cave, uint64_t *at,
                        struct hs_error *error)
{
    long mapped = 0;
    struct hs_system_call call = {target->arch->mmap,
                                  {0, (long)size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}};
    int failed = hs_inject_steer__call(target, cave, 0, &call, &mapped, error);
    *at = (unsigned long)mapped;
    return failed || !is_error(mapped) ? failed : cannot_map(target, (int)-mapped, error);
}

// The other threads go on, and may take the hole.
static int map(struct hs_inject_target *target, uint64_t near, uint64_t size, uint64_t cave, uint64_t *at,
               struct hs_error *error)
{
    long mapped = -EEXIST;
    int failed = 0;
    for (int tries = 0; !failed && mapped == -EEXIST && tries < HOLE_TRIES; tries++) {
        failed = hs_inject_target__read_mappings(target, error);
        uint64_t hole = find_hole(target, near, size);
        if (!failed && !hole)
            failed = no_room(target, error);
        struct hs_system_call call = {
            target->arch->mmap,
            {(long)hole, (long)size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0}};
        if (!failed)
            failed = hs_inject_steer__call(target, cave, 0, &call, &mapped, error);
        if (!failed && !is_error(mapped) && (unsigned long)mapped != hole) // a kernel that does not know the flag
            failed = no_room(target, error);
    }
    if (!failed && is_error(mapped))
        failed = cannot_map(target, (int)-mapped, error);
    *at = (unsigned long)mapped;
    return failed;
}

static int make_writable(struct hs_inject_target *target, uint64_t at, uint64_t size, uint64_t cave,
                         struct hs_error *error)
{
    long protected = 0;
    struct hs_system_call call = {SYS_mprotect, {(long)at, (long)size, PROT_READ | PROT_WRITE, 0, 0, 0}};
    int failed = hs_inject_steer__call(target, cave, 0, &call, &protected, error);
    if (!failed && protected < 0)
        failed = hs_error__set(error, (int)-protected, "process %d cannot protect memory: %s", (int)target->pid,
                               strerror((int)-protected));
    return failed;
}

int hs_place__map(struct hs_inject_target *target, uint64_t near, bool has_to_be_near, uint64_t size,
                  uint64_t writable_at, uint64_t *at, struct hs_error *error)
{
    uint64_t cave = find_cave(target, near);
    if (!cave)
        return hs_error__set(error, ENOTSUP, "process %d has no unused bytes in its code", (int)target->pid);
    int failed = hs_inject_stop__one(target, error);
    if (!failed)
        failed =
            has_to_be_near ? map(target, near, size, cave, at, error) : map_anywhere(target, size, cave, at, error);
    if (!failed && writable_at < size)
        failed = make_writable(target, *at + writable_at, size - writable_at, cave, error);
    hs_cave__empty(target, cave);
    hs_inject_target__let_go(target);
    return failed;
}
