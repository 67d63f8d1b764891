// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A sampler that samples nothing: it keeps what control asks of it.
#include "fake_sampler.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/streaming.h"
#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>

unsigned long fake_dump_bytes;
_Atomic int fake_dump_pause;

struct hs_prof_options hs_prof_options = {.control = true};
struct hs_prof_texts hs_prof_texts = {.prefix = "fake"};
void (*hs_prof_options_message)(const char *message);
struct hs_sampler hs_sampler = {.sample_bytes = 524288};
__thread struct hs_sampler_thread *hs_sampler_self;
static struct hs_sampler_thread nobody;
static uint64_t live = 1000000;

struct hs_sampler_thread hs_sampler_nobody;

void hs_sampler__be(struct hs_sampler_thread *record)
{
    (void)record;
    hs_sampler_self = &nobody;
}

uint32_t hs_streaming__pid(void)
{
    return (uint32_t)hs_system_getpid();
}

bool hs_sampler__is_on(void)
{
    return hs_sampler.on;
}

void hs_sampler__switch_on(void)
{
    hs_sampler.on = true;
}

bool hs_sampler__set_active(bool active)
{
    bool before = atomic_exchange(&hs_sampler.active, active);
    if (before != active)
        hs_sampler.active_since_ns = hs_clock__realtime_ns();
    return before;
}

void hs_sampler__set_rate(uint64_t bytes)
{
    hs_sampler.sample_bytes = bytes;
}

void hs_sampler__reset(void)
{
    live = 0;
    hs_sampler.reset_at_ns = hs_clock__realtime_ns();
}

uint64_t hs_sampler__total_allocated(void)
{
    return 3000000;
}

uint64_t hs_sampler__total_deallocated(void)
{
    return 1000000;
}

bool hs_profile_snapshot__take(struct hs_profile_snapshot *snapshot, bool with_total)
{
    (void)with_total;
    *snapshot = (struct hs_profile_snapshot){.stack_count = 2,
                                             .thread_count = 1,
                                             .sample_bytes = hs_sampler.sample_bytes,
                                             .since_ns = hs_sampler.reset_at_ns};
    snapshot->live.estimated_bytes = live;
    snapshot->live.estimated_objects_q16 = (live / 1000) << 16;
    snapshot->live.objects = live ? 2 : 0;
    return true;
}

void hs_profile_snapshot__free(struct hs_profile_snapshot *snapshot)
{
    (void)snapshot;
}

// Runs in the hidden thread: no libc.
static int write_text(int fd, const char *text, size_t length)
{
    return HS_SYSTEM3(SYS_write, fd, text, length) == (long)length ? 0 : ENOSPC;
}

int hs_dump__to_descriptor(int fd, enum hs_dump_format format)
{
    static const char *const heads[] = {"heap_v2/524288\n  t*: 2: 1000000 [0: 0]\n  t0: 2: 1000000 [0: 0]\n",
                                        "heap profile: 2: 1000000 [0: 0] @ heap_v2/524288\n", "proto\n",
                                        "--- symbol\nbinary=fake\n---\n--- heap\n", "main;f 1000000\n"};
    static char padding[1 << 16];
    if (fake_dump_pause == 1)
        fake_dump_pause = 2;
    while (fake_dump_pause)
        HS_SYSTEM0(SYS_sched_yield);
    int error = write_text(fd, heads[format], hs_text__length(heads[format]));
    for (unsigned long left = fake_dump_bytes; left && !error; left -= sizeof padding)
        error = write_text(fd, padding, sizeof padding);
    return error;
}

int hs_dump__to_file(const char *path, enum hs_dump_format format)
{
    long fd = hs_system_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        return (int)-fd;
    int error = hs_dump__to_descriptor((int)fd, format);
    hs_system_close((int)fd);
    return error;
}

int hs_dump__automatic(enum hs_dump_kind kind, char *name)
{
    struct hs_text text;
    hs_text__start(&text, name, HS_PROF_PATH);
    hs_text__add(&text, hs_prof_texts.prefix);
    hs_text__add(&text, ".");
    hs_text__add_character(&text, (char)kind);
    hs_text__add(&text, ".heap");
    return hs_prof_texts.prefix[0] ? hs_dump__to_file(name, HS_DUMP_HEAP_V2) : EFAULT;
}
