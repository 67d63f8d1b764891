// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/cave.h"

#include "host/base/numbers.h"
#include "host/inject/stop.h"

#include <string.h>

static const uint8_t zeros[HS_INJECT_CODE];

// Pages that the kernel maps into all processes, and that nobody may write to.
static bool is_kernels(const char *path)
{
    return !strcmp(path, "[vsyscall]") || !strcmp(path, "[vectors]") || !strcmp(path, "[sigpage]");
}

// 0: the mapping is no module's code.
static uint64_t cave_of(const struct hs_inject_mapping *mapping)
{
    if (!mapping->is_executable || mapping->is_writable || !mapping->path[0] || is_kernels(mapping->path) ||
        mapping->end - mapping->start < 2 * HS_INJECT_CODE)
        return 0;
    return mapping->end - HS_INJECT_CODE;
}

uint64_t hs_cave__find(const struct hs_inject_target *target, uint64_t near)
{
    uint8_t bytes[HS_INJECT_CODE];
    uint64_t found = 0;
    for (size_t i = 0; i < target->mapping_count; i++) {
        uint64_t at = cave_of(&target->mappings[i]);
        if (at && (!found || hs_number__distance(at, near) < hs_number__distance(found, near)) &&
            !hs_inject_target__read(target, at, bytes, sizeof bytes) && !memcmp(bytes, zeros, sizeof bytes))
            found = at;
    }
    return found;
}

void hs_cave__empty(const struct hs_inject_target *target, uint64_t cave)
{
    hs_inject_target__write(target, cave, zeros, sizeof zeros);
}

static bool is_left_over(const struct hs_inject_target *target, uint64_t cave)
{
    const struct hs_borrowed nobody = {.stub = cave};
    uint8_t bytes[HS_INJECT_CODE], stub[HS_INJECT_CODE];
    target->arch->stub(stub, &nobody, 0);
    return !hs_inject_target__read(target, cave, bytes, sizeof bytes) &&
           !memcmp(bytes, stub, sizeof stub - target->arch->stub_values);
}

static bool is_executed(const struct hs_inject_target *target, uint64_t cave)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        struct hs_thread_stop *thread = &target->threads[i];
        if (!hs_inject_stop__see(target, thread) || (thread->pc >= cave && thread->pc < cave + HS_INJECT_CODE))
            return true;
    }
    return false;
}

void hs_cave__empty_all(const struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->mapping_count; i++) {
        uint64_t at = cave_of(&target->mappings[i]);
        if (at && is_left_over(target, at) && !is_executed(target, at))
            hs_cave__empty(target, at);
    }
}
