// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any name and any MIB: nothing is read or written outside of what the caller gave. The sampler is left out.
#include "runtime/prof/contexts.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/events.h"
#include "runtime/prof/options.h"
#include "runtime/prof/records.h"
#include "runtime/prof/sampler.h"
#include "shims/common/real.h"
#include "shims/prof/mallctl.h"
#include "shims/prof/nodes.h"
#include "unwind/include/heapsonde/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void message(const char *text)
{
    (void)text;
}

void (*hs_prof_options_message)(const char *text) = message;
void (*hs_prof_options_abort)(const char *text) = message;
static const char *program;
const char *const *hs_prof_options_program[2] = {&program, &program};

// ---- what the nodes ask of the rest of the shim ---------------------------------------------------------------------

static struct hs_sampler_thread thread;
struct hs_sampler hs_sampler;
struct hs_real hs_real;
size_t hs_prof_zero_reallocs;
struct hs_hooks hs_hooks;
void (*volatile hs_dump_hook)(const char *name);

#define NOTHING(name, parameters)                                                                                      \
    void name parameters                                                                                               \
    {                                                                                                                  \
    }
#define ANSWERS(type, value, name, parameters)                                                                         \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(hs_dump__set_prefix, (const char *prefix))
NOTHING(hs_sampler__reset, (void))
NOTHING(hs_sampler__set_rate, (uint64_t bytes))
NOTHING(hs_table__unlock, (void))
NOTHING(hs_recent__print, (void (*write)(void *opaque, const char *text), void *opaque))
ANSWERS(bool, true, hs_table__lock, (void))
ANSWERS(bool, true, hs_sampler__set_active, (bool active))
ANSWERS(bool, true, hs_allocation_log__start, (const char *path))
ANSWERS(bool, true, hs_allocation_log__stop, (void))
ANSWERS(int, 0, hs_dump__automatic, (enum hs_dump_kind kind, char *name))
ANSWERS(int, 0, hs_dump__to_file, (const char *path, enum hs_dump_format format))
ANSWERS(int64_t, 0, hs_recent__limit, (void))
ANSWERS(int64_t, 0, hs_recent__set_limit, (int64_t limit))
ANSWERS(int, 0, hs_backtrace, (void **frames, int limit))
ANSWERS(struct hs_class_count, ((struct hs_class_count){1, 2}), hs_class_counts__live, (uint32_t size_class))
ANSWERS(struct hs_class_count, ((struct hs_class_count){1, 2}), hs_class_counts__total, (uint32_t size_class))

struct hs_sampler_thread *hs_sampler__self(void)
{
    return &thread;
}

bool hs_sampler__is_on(void)
{
    return true;
}

uint64_t hs_sampler__total_allocated(void)
{
    return 2;
}

uint64_t hs_sampler__total_deallocated(void)
{
    return 1;
}

struct hs_sampler_thread *hs_sampler__thread_at(uint32_t index)
{
    (void)index;
    return &thread;
}

uint32_t hs_sampler__thread_count(void)
{
    return 1;
}

void *hs_real__find(const char *name)
{
    (void)name;
    return NULL;
}

bool hs_real__same_module(const void *a, const void *b)
{
    return a == b;
}

// ---- the target -----------------------------------------------------------------------------------------------------

// Buffers of exactly the size that is said, so that the sanitizer sees every byte too many.
static void call(const char *name, const size_t *mib, size_t depth, size_t room, bool writes)
{
    unsigned char *old = malloc(room ? room : 1), *new = calloc(1, room ? room : 1);
    size_t length = room;
    if (name)
        mallctl(name, old, &length, writes ? new : NULL, writes ? room : 0);
    else
        mallctlbymib(mib, depth, old, &length, writes ? new : NULL, writes ? room : 0);
    if (length > room)
        abort();
    free(old);
    free(new);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    hs_prof_options.stats = true;
    size_t room = data[0] % 17, depth = data[1] % 12;
    char *name = malloc(size - 1);
    memcpy(name, data + 2, size - 2);
    name[size - 2] = 0;
    size_t *mib = calloc(depth ? depth : 1, sizeof *mib), count = depth;
    bool found = mallctlnametomib(name, mib, &count) == 0;
    if (count > depth)
        abort();
    if (found)
        call(NULL, mib, count, room, data[1] & 64);
    call(name, NULL, 0, room, data[1] & 64);
    for (size_t i = 0; i < depth && i + 2 < size; i++)
        mib[i] = data[i + 2] == 255 ? SIZE_MAX : data[i + 2];
    call(NULL, mib, depth, room, data[1] & 64);
    free(mib);
    free(name);
    return 0;
}
