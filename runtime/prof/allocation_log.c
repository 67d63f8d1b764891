// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The log: sampled blocks that were allocated and freed while it ran, written as one JSON object when it stops. At most
// a million are kept; of those beyond it only the number is.
#include "arch/system.h"
#include "runtime/memory.h"
#include "runtime/place.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/dump_name.h"
#include "runtime/prof/dump_output.h"
#include "runtime/prof/events.h"
#include "runtime/prof/records.h"
#include "runtime/text.h"

#include <fcntl.h>

enum { LOG_LIMIT = 1 << 20, FRAMES = 1024, FILE_MODE = 0644, MESSAGE = HS_PROF_PATH + 128 };

// Under hs_table_lock, except the data of the thread that stops the log.
static struct {
    uint32_t running, last; // numbers of logs, from 1
    bool stopping;
    uint32_t first, newest;
    uint64_t count, dropped;
    uint64_t began_ns, lasted_ns;
    uint32_t files;          // automatic names used up
    char path[HS_PROF_PATH]; // empty until it is known: an automatic name contains the pid of the writing process
} recording;

uint32_t hs_allocation_log__number(void)
{
    return recording.running;
}

void hs_allocation_log__add(uint32_t index)
{
    if (recording.count == LOG_LIMIT) {
        recording.dropped++;
        return;
    }
    hs_records__at(index)->logged = true;
    if (recording.newest)
        hs_records__at(recording.newest)->log_next = index;
    else
        recording.first = index;
    recording.newest = index;
    recording.count++;
}

// ---- start ----------------------------------------------------------------------------------------------------------

static void set_path(const char *path)
{
    struct hs_text text;
    hs_text__start(&text, recording.path, sizeof recording.path);
    hs_text__add(&text, path ? path : "");
}

static void make_path(void)
{
    struct hs_text text;
    hs_text__start(&text, recording.path, sizeof recording.path);
    hs_text__add(&text, hs_dump_name__prefix());
    hs_text__add_character(&text, '.');
    hs_text__add_number(&text, (uint64_t)hs_system_getpid());
    hs_text__add_character(&text, '.');
    hs_text__add_number(&text, recording.files++);
    hs_text__add(&text, ".json");
}

bool hs_allocation_log__start(const char *path)
{
    if (!hs_table__lock())
        return false;
    bool possible = !recording.running && !recording.stopping;
    if (possible) {
        set_path(path);
        recording.began_ns = hs_records__now();
        recording.running = ++recording.last;
        hs_records__want(HS_EVENTS_LOG, true);
    }
    hs_table__unlock();
    return possible;
}

// ---- numbers of threads and stacks in the file ----------------------------------------------------------------------

// Values in the order in which they were first met; open addressing.
struct numbering {
    uint32_t *slots; // number + 1
    uint32_t *values;
    uint32_t count, mask;
};

static uint32_t number_of(struct numbering *numbering, uint32_t value)
{
    uint32_t slot = (value * 2654435769u) >> 7 & numbering->mask;
    for (;; slot = (slot + 1) & numbering->mask) {
        uint32_t *taken = &numbering->slots[slot];
        if (*taken && numbering->values[*taken - 1] == value)
            return *taken - 1;
        if (*taken)
            continue;
        numbering->values[numbering->count] = value;
        return (*taken = ++numbering->count) - 1;
    }
}

struct job {
    void *memory;
    size_t size;
    struct hs_dump_output *output;
    uintptr_t *frames;
    struct numbering threads, stacks;
    uint32_t *named_by; // for each thread a record that has its name
};

// Everything in one piece: at most two threads and two stacks for each record.
static bool make_job(struct job *job)
{
    uint32_t entries = 64;
    while (entries < recording.count * 4)
        entries *= 2;
    size_t tables = (size_t)entries * sizeof(uint32_t);
    job->size = sizeof(struct hs_dump_output) + FRAMES * sizeof(uintptr_t) + 5 * tables;
    job->memory = hs_memory__map(job->size);
    if (!job->memory)
        return false;
    job->output = job->memory;
    job->frames = (uintptr_t *)(void *)(job->output + 1);
    uint32_t *table = (uint32_t *)(void *)(job->frames + FRAMES);
    job->threads = (struct numbering){table, table + entries, 0, entries - 1};
    job->stacks = (struct numbering){table + 2 * (size_t)entries, table + 3 * (size_t)entries, 0, entries - 1};
    job->named_by = table + 4 * (size_t)entries;
    return true;
}

// ---- the file -------------------------------------------------------------------------------------------------------

static void write_field(struct hs_dump_output *output, const char *key, uint64_t number)
{
    hs_dump_output__text(output, key);
    hs_dump_output__number(output, number);
}

static void write_information(struct hs_dump_output *output)
{
    write_field(output, "{\"info\":{\"duration\":", recording.lasted_ns);
    hs_dump_output__text(output, ",\"version\":\"" HEAPSONDE_VERSION "\"");
    write_field(output, ",\"lg_sample_rate\":", hs_prof_options.lg_sample);
    hs_dump_output__text(output, ",\"prof_time_resolution\":\"");
    hs_dump_output__text(output, hs_prof_options.time_high ? "high\"" : "default\"");
    write_field(output, ",\"pid\":", (uint64_t)hs_system_getpid());
    if (recording.dropped)
        write_field(output, ",\"dropped\":", recording.dropped);
    hs_dump_output__text(output, "}");
}

static void number_all(struct job *job)
{
    uint32_t met = 0;
    for (uint32_t i = recording.first; i; i = hs_records__at(i)->log_next) {
        const struct hs_sampled_block *record = hs_records__at(i);
        const struct hs_record_side *sides[2] = {&record->allocated, &record->released};
        for (unsigned side = 0; side < 2; side++) {
            uint32_t thread = number_of(&job->threads, sides[side]->thread);
            number_of(&job->stacks, sides[side]->stack);
            if (thread == met) {
                job->named_by[thread] = i << 1 | side;
                met++;
            }
        }
    }
}

static void write_name(struct hs_dump_output *output, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            hs_dump_output__bytes(output, "\\", 1);
        hs_dump_output__bytes(output, *name == '\t' ? " " : name, 1);
    }
}

static void write_threads(const struct job *job)
{
    struct hs_dump_output *output = job->output;
    hs_dump_output__text(output, ",\"threads\":[");
    for (uint32_t i = 0; i < job->threads.count; i++) {
        const struct hs_sampled_block *record = hs_records__at(job->named_by[i] >> 1);
        write_field(output, i ? ",{\"thr_uid\":" : "{\"thr_uid\":", job->threads.values[i]);
        hs_dump_output__text(output, ",\"thr_name\":\"");
        write_name(output, job->named_by[i] & 1 ? record->released.name : record->allocated.name);
        hs_dump_output__text(output, "\"}");
    }
}

static void write_stacks(const struct job *job)
{
    struct hs_dump_output *output = job->output;
    hs_dump_output__text(output, "],\"stack_traces\":[");
    for (uint32_t i = 0; i < job->stacks.count; i++) {
        bool cut;
        uint32_t stack = job->stacks.values[i];
        uint32_t count = stack ? hs_profile_snapshot__frames(stack, job->frames, FRAMES, &cut) : 0;
        hs_dump_output__text(output, i ? ",[" : "[");
        for (uint32_t frame = 0; frame < count; frame++) {
            hs_dump_output__text(output, frame ? ",\"0x" : "\"0x");
            hs_dump_output__hex(output, job->frames[frame]);
            hs_dump_output__text(output, "\"");
        }
        hs_dump_output__text(output, "]");
    }
}

static void write_allocations(struct job *job)
{
    struct hs_dump_output *output = job->output;
    hs_dump_output__text(output, "],\"allocations\":[");
    for (uint32_t i = recording.first; i; i = hs_records__at(i)->log_next) {
        const struct hs_sampled_block *record = hs_records__at(i);
        write_field(output, i == recording.first ? "{\"alloc_thread\":" : ",{\"alloc_thread\":",
                    number_of(&job->threads, record->allocated.thread));
        write_field(output, ",\"free_thread\":", number_of(&job->threads, record->released.thread));
        write_field(output, ",\"alloc_trace\":", number_of(&job->stacks, record->allocated.stack));
        write_field(output, ",\"free_trace\":", number_of(&job->stacks, record->released.stack));
        write_field(output, ",\"alloc_timestamp\":", record->allocated.time_ns);
        write_field(output, ",\"free_timestamp\":", record->released.time_ns);
        write_field(output, ",\"usize\":", record->usable);
        hs_dump_output__text(output, "}");
    }
    hs_dump_output__text(output, "]}");
}

static void say_failure(int error)
{
    char message[MESSAGE];
    struct hs_text text;
    hs_text__start(&text, message, sizeof message);
    hs_text__add(&text, "<jemalloc>: creat() for log file \"");
    hs_text__add(&text, recording.path);
    hs_text__add(&text, "\"  failed with ");
    hs_text__add_number(&text, (uint64_t)error);
    hs_text__add(&text, "\n");
    hs_prof_options_message(message);
}

static bool write_file(void)
{
    if (!recording.path[0])
        make_path();
    long fd = hs_place__write_to(recording.path, O_TRUNC, FILE_MODE);
    struct job job;
    if (fd < 0) {
        say_failure((int)-fd);
        return false;
    }
    bool written = make_job(&job);
    if (written) {
        job.output->fd = (int)fd;
        job.output->pid = (uint32_t)hs_system_getpid();
        write_information(job.output);
        number_all(&job);
        write_threads(&job);
        write_stacks(&job);
        write_allocations(&job);
        hs_dump_output__flush(job.output);
        written = !job.output->error;
        hs_memory__unmap(job.memory, job.size);
    }
    hs_system_close((int)fd);
    return written;
}

// ---- stop -----------------------------------------------------------------------------------------------------------

static void forget_records(void)
{
    for (uint32_t next, i = recording.first; i; i = next) {
        struct hs_sampled_block *record = hs_records__at(i);
        next = record->log_next;
        record->logged = false;
        record->log_next = 0;
        hs_records__let_go(i);
    }
    recording.first = recording.newest = 0;
    recording.count = recording.dropped = 0;
    recording.stopping = false;
}

bool hs_allocation_log__stop(void)
{
    if (!hs_table__lock())
        return false;
    bool possible = recording.running && !recording.stopping;
    if (possible) {
        recording.running = 0;
        recording.stopping = true;
        hs_records__want(HS_EVENTS_LOG, false);
        recording.lasted_ns = hs_records__now() - recording.began_ns;
    }
    hs_table__unlock();
    if (!possible)
        return false;
    // Nobody adds to the list any more, and what is in it stays.
    bool written = write_file();
    if (hs_table__lock()) {
        forget_records();
        hs_table__unlock();
    }
    return written;
}
