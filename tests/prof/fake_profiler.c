// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/prof/fake_profiler.h"

#include "arch/system.h"
#include "runtime/prof/options.h"
#include "runtime/prof/streaming.h"
#include "runtime/stream/dump_pieces.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS_MOST = 64, THREADS_MOST = 16 };

struct hs_prof_options hs_prof_options;
struct hs_prof_texts hs_prof_texts;
struct hs_sampler hs_sampler;
struct hs_lock hs_table_lock;
static struct hs_sampler_thread self = {.tid = 1};
__thread struct hs_sampler_thread *hs_sampler_self = &self;

bool fake_profiler_has_no_memory, fake_profiler_is_interrupted;
char fake_profiler_messages[FAKE_MESSAGES_SIZE];
void (*fake_profiler_middle)(void);

static struct hs_pair pairs[PAIRS_MOST];
static uintptr_t frames_of[PAIRS_MOST][FAKE_FRAMES_MOST + 1];
static uint32_t pair_count;
static struct hs_profile_snapshot_thread threads[THREADS_MOST];
static uint32_t thread_count;

static void say(const char *message)
{
    strncat(fake_profiler_messages, message, FAKE_MESSAGES_SIZE - strlen(fake_profiler_messages) - 1);
}

static void say_and_abort(const char *message)
{
    say(message);
    abort();
}

void (*hs_prof_options_message)(const char *message) = say;
void (*hs_prof_options_abort)(const char *message) = say_and_abort;

void fake_profiler__reset(void)
{
    memset(&hs_prof_options, 0, sizeof hs_prof_options);
    memset(&hs_prof_texts, 0, sizeof hs_prof_texts);
    hs_prof_options.prof = hs_prof_options.active = hs_prof_options.unbias = true;
    hs_prof_options.max_frames = 128;
    hs_prof_options.sample_bytes = 1;
    strcpy(hs_prof_texts.prefix, "fake");
    hs_sampler.sample_bytes = 1;
    hs_sampler.on = hs_sampler.active = true;
    hs_sampler.gdump = false;
    pair_count = thread_count = 0;
    memset(threads, 0, sizeof threads);
    fake_profiler_messages[0] = 0;
    fake_profiler_has_no_memory = fake_profiler_is_interrupted = false;
    fake_profiler_middle = NULL;
}

static struct hs_profile_snapshot_thread *thread_of(uint32_t uid)
{
    for (uint32_t i = 0; i < thread_count; i++)
        if (threads[i].uid == uid)
            return &threads[i];
    threads[thread_count].uid = uid;
    return &threads[thread_count++];
}

void fake_profiler__name_thread(uint32_t thread, const char *name)
{
    strncpy(thread_of(thread)->name, name, sizeof threads[0].name - 1);
}

void hs_counts__add(struct hs_counts *sum, const struct hs_counts *counts)
{
    sum->objects += counts->objects;
    sum->bytes += counts->bytes;
    sum->estimated_objects_q16 += counts->estimated_objects_q16;
    sum->estimated_bytes += counts->estimated_bytes;
}

void fake_profiler__add(uint32_t stack, uint32_t thread, uint64_t objects, uint64_t bytes, const uintptr_t *frames)
{
    struct hs_counts counts = {objects, bytes, objects << 16, bytes};
    pairs[pair_count] = (struct hs_pair){.stack = stack, .thread = thread, .live = counts, .total = counts};
    for (int i = 0; i < FAKE_FRAMES_MOST && frames[i]; i++) {
        frames_of[stack][i] = frames[i];
        frames_of[stack][i + 1] = 0;
    }
    pair_count++;
    hs_counts__add(&thread_of(thread)->live, &counts);
    hs_counts__add(&thread_of(thread)->total, &counts);
}

// Nothing is streamed.
bool hs_streaming__is_open(void)
{
    return false;
}

bool hs_streaming__replaces_files(void)
{
    return false;
}

bool hs_streaming__is_sender(void)
{
    return false;
}

uint32_t hs_streaming__pid(void)
{
    return (uint32_t)hs_system_getpid();
}

void hs_streaming__begin_if_due(void)
{
}

bool hs_dump_pieces__begin(char kind, bool may_wait)
{
    (void)kind, (void)may_wait;
    return false;
}

void hs_dump_pieces__put(const void *bytes, uint64_t length)
{
    (void)bytes;
    (void)length;
}

void hs_dump_pieces__end(bool whole)
{
    (void)whole;
}

bool hs_sampler__is_on(void)
{
    return hs_sampler.on;
}

bool hs_table__is_ours(void)
{
    return fake_profiler_is_interrupted;
}

bool hs_profile_snapshot__take(struct hs_profile_snapshot *snapshot, bool with_total)
{
    (void)with_total;
    if (fake_profiler_middle)
        fake_profiler_middle();
    *snapshot = (struct hs_profile_snapshot){.pairs = pairs,
                                             .pair_count = pair_count,
                                             .threads = threads,
                                             .thread_count = thread_count,
                                             .sample_bytes = hs_sampler.sample_bytes,
                                             .real_ns = 1000000000123456789,
                                             .since_ns = 999999999123456789};
    for (uint32_t i = 0; i < pair_count; i++) {
        hs_counts__add(&snapshot->live, &pairs[i].live);
        hs_counts__add(&snapshot->total, &pairs[i].total);
    }
    return !fake_profiler_has_no_memory;
}

void hs_profile_snapshot__free(struct hs_profile_snapshot *snapshot)
{
    (void)snapshot;
}

uint32_t hs_profile_snapshot__frames(uint32_t stack, uintptr_t *frames, uint32_t limit, bool *cut)
{
    uint32_t count = 0;
    for (; count < limit && frames_of[stack][count]; count++)
        frames[count] = frames_of[stack][count];
    *cut = false;
    return count;
}

struct hs_written_counts hs_counts__to_write(const struct hs_counts *counts, uint64_t sample_bytes)
{
    (void)sample_bytes;
    return (struct hs_written_counts){counts->objects, counts->bytes};
}
