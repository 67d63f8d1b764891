// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A Perfetto trace: tables of strings, frames and stacks; a heap profile of what was allocated and freed until the end
// and another of what was live at the peak, or the samples one by one; counters of the heap's size and, as far as they
// are known, of CPU time and resident memory.
#include "host/base/buffer.h"
#include "host/export/export.h"
#include "host/export/stack_table.h"
#include "host/query/usage.h"
#include "host/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES   (64u << 10) // tables and samples are spread over packets of about this size
#define COUNTER_POINTS 1000

// Numbers of fields, by message.
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_FLAGS = 13,
    PACKET_PROFILE = 37,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_SAMPLE = 66
};
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { INTERNED_FUNCTIONS = 5, INTERNED_FRAMES = 6, INTERNED_STACKS = 7, INTERNED_PATHS = 17, INTERNED_MAPPINGS = 19 };
enum { SNAPSHOT_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3, CLOCK_MONOTONIC_COARSE_ID = 4, CLOCK_BOOTTIME_ID = 6 };
enum { PROFILE_PROCESS = 5, PROFILE_CONTINUED = 6, PROFILE_INDEX = 7 };
enum {
    PROCESS_PID = 1,
    PROCESS_SAMPLE = 2,
    PROCESS_FROM_STARTUP = 3,
    PROCESS_TIME = 9,
    PROCESS_HEAP = 11,
    PROCESS_RATE = 12
};
enum { SAMPLE_STACK = 1, SAMPLE_ALLOCATED = 2, SAMPLE_FREED = 3, SAMPLE_ALLOCATIONS = 5, SAMPLE_FREES = 6 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { COUNTER_UNIT = 3, UNIT_NS = 1, UNIT_BYTES = 3 };
enum { CALL_PID = 2, CALL_TID = 3, CALL_STACK = 4, CALL_MODE = 5, MODE_USER = 2 }; // of PerfSample
enum { EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_VALUE = 30, TYPE_COUNTER = 4 };
enum { UUID_PROCESS = 1, UUID_COUNTERS = 2, SEQUENCE = 1 }; // counters have numbers from UUID_COUNTERS on

struct perfetto_writing {
    FILE *out;
    const struct hs_subject *subject;
    struct hs_stack_table table;
    struct hs_id_map functions, modules; // by address of the text
    uint32_t function_count, module_count;
    struct hs_buffer packet, tables, profile, samples, part, entry;
    uint64_t time;     // monotonic, of the end
    uint32_t profiles; // packets
    bool started;      // a table was written
    bool failed;
};

static void put_text(struct hs_buffer *to, uint32_t field, const char *text)
{
    hs_buffer__put_bytes_field(to, field, text, strlen(text));
}

static void write_packet(struct perfetto_writing *writing, uint64_t time)
{
    struct hs_buffer head = {0};
    hs_buffer__put_field(&writing->packet, PACKET_TIMESTAMP, time);
    hs_buffer__put_field(&writing->packet, PACKET_SEQUENCE, SEQUENCE);
    hs_buffer__put_number(&head, TRACE_PACKET << 3 | 2);
    hs_buffer__put_number(&head, writing->packet.count);
    fwrite(head.bytes, 1, head.count, writing->out);
    fwrite(writing->packet.bytes, 1, writing->packet.count, writing->out);
    writing->failed |= head.failed || writing->packet.failed;
    writing->packet.count = 0;
    hs_buffer__free(&head);
}

// ---- tables --------------------------------------------------------------------------------------------------------

static void write_tables(struct perfetto_writing *writing)
{
    if (!writing->tables.count)
        return;
    hs_buffer__put_message(&writing->packet, PACKET_INTERNED_DATA, &writing->tables);
    hs_buffer__put_field(&writing->packet, PACKET_FLAGS, writing->started ? FLAG_NEEDS_STATE : FLAG_STATE_CLEARED);
    writing->started = true;
    write_packet(writing, writing->time);
}

static void end_entry(struct perfetto_writing *writing, uint32_t field)
{
    hs_buffer__put_message(&writing->tables, field, &writing->entry);
    if (writing->tables.count > PACKET_BYTES)
        write_tables(writing);
}

static uint32_t string_of(struct perfetto_writing *writing, struct hs_id_map *known, uint32_t *count, uint32_t field,
                          const char *text)
{
    uint32_t number = hs_id_map__find(known, (uintptr_t)text);
    if (number != UINT32_MAX)
        return number;
    number = ++*count;
    writing->failed |= hs_id_map__set(known, (uintptr_t)text, number) != 0;
    hs_buffer__put_field(&writing->entry, 1, number);
    put_text(&writing->entry, 2, text);
    end_entry(writing, field);
    return number;
}

static uint32_t mapping_of(struct perfetto_writing *writing, const char *module)
{
    uint32_t before = writing->module_count;
    uint32_t number = string_of(writing, &writing->modules, &writing->module_count, INTERNED_PATHS, module);
    if (number <= before)
        return number;
    hs_buffer__put_field(&writing->entry, 1, number);
    hs_buffer__put_field(&writing->entry, 7, number); // its path
    end_entry(writing, INTERNED_MAPPINGS);
    return number;
}

// The offset of the address in its file. Inlined frames of one address differ in their names.
static uint64_t address_in_file(const struct perfetto_writing *writing, const struct hs_frame *frame)
{
    const struct hs_store *store = writing->subject->store;
    const struct hs_module *module = hs_store__module_at(store, frame->address, hs_store__summary(store)->end_time);
    return module && frame->address >= module->bias ? frame->address - module->bias : frame->address;
}

static void put_frame(struct perfetto_writing *writing, size_t index)
{
    const struct hs_frame *frame = writing->table.frame[index];
    uint32_t name =
        string_of(writing, &writing->functions, &writing->function_count, INTERNED_FUNCTIONS, frame->function);
    uint32_t mapping = *frame->module ? mapping_of(writing, frame->module) : 0;
    hs_buffer__put_field(&writing->entry, 1, index + 1);
    hs_buffer__put_field(&writing->entry, 2, name);
    hs_buffer__put_field(&writing->entry, 3, mapping);
    hs_buffer__put_field(&writing->entry, 4, mapping ? address_in_file(writing, frame) : 0);
    hs_buffer__put_field(&writing->entry, 6, frame->line);
    end_entry(writing, INTERNED_FRAMES);
}

static int put_stacks(struct perfetto_writing *writing)
{
    struct hs_frame_numbers frames = {0};
    for (size_t i = 0; i < writing->subject->totals.count; i++) {
        uint32_t stack = writing->subject->totals.total[i].stack;
        size_t count = hs_stack_table__whole(&writing->table, stack, &frames);
        if (count == SIZE_MAX)
            break;
        hs_buffer__put_field(&writing->entry, 1, (uint64_t)stack + 1);
        while (count--)
            hs_buffer__put_field(&writing->entry, 2, (uint64_t)frames.number[count] + 1);
        end_entry(writing, INTERNED_STACKS);
    }
    bool failed = writing->subject->totals.count && !frames.number;
    free(frames.number);
    return failed ? -ENOMEM : 0;
}

// ---- samples -------------------------------------------------------------------------------------------------------

static void write_profile(struct perfetto_writing *writing, const char *heap, uint64_t time, bool more)
{
    const struct hs_summary *summary = hs_store__summary(writing->subject->store);
    hs_buffer__put_field(&writing->part, PROCESS_PID, summary->pid ? summary->pid : 1);
    hs_buffer__put(&writing->part, writing->samples.bytes, writing->samples.count);
    writing->samples.count = 0;
    writing->failed |= writing->samples.failed;
    hs_buffer__put_field(&writing->part, PROCESS_FROM_STARTUP, 1);
    hs_buffer__put_field(&writing->part, PROCESS_TIME, time);
    put_text(&writing->part, PROCESS_HEAP, heap);
    hs_buffer__put_field(&writing->part, PROCESS_RATE, 1);
    hs_buffer__put_message(&writing->profile, PROFILE_PROCESS, &writing->part);
    hs_buffer__put_field(&writing->profile, PROFILE_CONTINUED, more);
    hs_buffer__put_field(&writing->profile, PROFILE_INDEX, writing->profiles++);
    hs_buffer__put_message(&writing->packet, PACKET_PROFILE, &writing->profile);
    hs_buffer__put_field(&writing->packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
    write_packet(writing, time);
}

static void put_sample(struct perfetto_writing *writing, const struct hs_total *total, bool at_peak)
{
    bool has_all = hs_subject__knows(writing->subject, HS_COST_ALLOCATED);
    uint64_t allocated = at_peak ? total->peak_bytes : has_all ? total->allocated_bytes : total->live_bytes;
    uint64_t count = at_peak ? total->peak_count : has_all ? total->allocated_count : total->live_count;
    if (!allocated && !count)
        return;
    hs_buffer__put_field(&writing->entry, SAMPLE_STACK, (uint64_t)total->stack + 1);
    hs_buffer__put_field(&writing->entry, SAMPLE_ALLOCATED, allocated);
    hs_buffer__put_field(&writing->entry, SAMPLE_FREED, at_peak ? 0 : allocated - total->live_bytes);
    hs_buffer__put_field(&writing->entry, SAMPLE_ALLOCATIONS, count);
    hs_buffer__put_field(&writing->entry, SAMPLE_FREES, at_peak ? 0 : count - total->live_count);
    hs_buffer__put_message(&writing->samples, PROCESS_SAMPLE, &writing->entry);
}

static void write_samples(struct perfetto_writing *writing, const char *heap, uint64_t time, bool at_peak)
{
    for (size_t i = 0; i < writing->subject->totals.count; i++) {
        put_sample(writing, &writing->subject->totals.total[i], at_peak);
        if (writing->samples.count > PACKET_BYTES)
            write_profile(writing, heap, time, true);
    }
    write_profile(writing, heap, time, false);
}

// ---- over time -----------------------------------------------------------------------------------------------------

static void put_clock(struct perfetto_writing *writing, unsigned id, uint64_t time)
{
    hs_buffer__put_field(&writing->entry, CLOCK_ID, id);
    hs_buffer__put_field(&writing->entry, CLOCK_TIME, time);
    hs_buffer__put_message(&writing->part, SNAPSHOT_CLOCK, &writing->entry);
}

// How the clocks stood at the start: without it the times of heap profiles mean nothing.
static void write_clocks(struct perfetto_writing *writing)
{
    const struct hs_store *store = writing->subject->store;
    uint64_t monotonic = hs_store__monotonic_ns(store, 0);
    put_clock(writing, CLOCK_BOOTTIME_ID, monotonic);
    put_clock(writing, CLOCK_MONOTONIC_ID, monotonic);
    put_clock(writing, CLOCK_MONOTONIC_COARSE_ID, monotonic);
    put_clock(writing, CLOCK_REALTIME_ID, hs_store__realtime_ns(store, 0));
    hs_buffer__put_message(&writing->packet, PACKET_CLOCK_SNAPSHOT, &writing->part);
    write_packet(writing, monotonic);
}

struct perfetto_counting {
    struct hs_timeline heap;
    struct hs_usage usage;
};

static uint64_t heap_at(const struct perfetto_counting *counting, size_t i)
{
    return counting->heap.point[i].live_bytes_end;
}

static uint64_t cpu_at(const struct perfetto_counting *counting, size_t i)
{
    return counting->usage.point[i].cpu_ns;
}

static uint64_t resident_at(const struct perfetto_counting *counting, size_t i)
{
    return counting->usage.point[i].resident_bytes_end;
}

static const struct counter {
    const char *name;
    unsigned unit;
    enum hs_events events; // without which there is none
    uint64_t (*at)(const struct perfetto_counting *counting, size_t i);
} counters[] = {{"heap", UNIT_BYTES, HS_EVENTS_HEAP, heap_at},
                {"CPU time", UNIT_NS, HS_EVENTS_CPU, cpu_at},
                {"resident by page faults", UNIT_BYTES, HS_EVENTS_TOUCHED, resident_at}};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static void write_process(struct perfetto_writing *writing)
{
    const struct hs_store *store = writing->subject->store;
    uint32_t pid = hs_store__summary(store)->pid;
    hs_buffer__put_field(&writing->entry, 1, pid ? pid : 1);
    put_text(&writing->entry, 6, hs_program_name(store));
    hs_buffer__put_field(&writing->part, TRACK_UUID, UUID_PROCESS);
    hs_buffer__put_message(&writing->part, TRACK_PROCESS, &writing->entry);
    hs_buffer__put_message(&writing->packet, PACKET_TRACK_DESCRIPTOR, &writing->part);
    write_packet(writing, hs_store__monotonic_ns(store, 0));
}

static void write_track(struct perfetto_writing *writing, uint64_t uuid, const struct counter *counter)
{
    hs_buffer__put_field(&writing->part, TRACK_UUID, uuid);
    hs_buffer__put_field(&writing->part, TRACK_PARENT, UUID_PROCESS);
    put_text(&writing->part, TRACK_NAME, counter->name);
    hs_buffer__put_field(&writing->entry, COUNTER_UNIT, counter->unit);
    hs_buffer__put_message(&writing->part, TRACK_COUNTER, &writing->entry);
    hs_buffer__put_message(&writing->packet, PACKET_TRACK_DESCRIPTOR, &writing->part);
    write_packet(writing, hs_store__monotonic_ns(writing->subject->store, 0));
}

static void write_counter(struct perfetto_writing *writing, uint64_t uuid, const struct counter *counter,
                          const struct perfetto_counting *counting)
{
    const struct hs_store *store = writing->subject->store;
    uint64_t end = hs_store__summary(store)->end_time;
    write_track(writing, uuid, counter);
    for (size_t i = 0; i < counting->heap.count; i++) {
        uint64_t at = counting->heap.from + (i + 1) * counting->heap.width;
        hs_buffer__put_field(&writing->part, EVENT_TYPE, TYPE_COUNTER);
        hs_buffer__put_field(&writing->part, EVENT_TRACK, uuid);
        // Zero is a value here.
        hs_buffer__put_number(&writing->part, EVENT_VALUE << 3);
        hs_buffer__put_number(&writing->part, counter->at(counting, i));
        hs_buffer__put_message(&writing->packet, PACKET_TRACK_EVENT, &writing->part);
        write_packet(writing, hs_store__monotonic_ns(store, at < end ? at : end));
    }
}

static int write_counters(struct perfetto_writing *writing, const struct hs_query_control *control)
{
    const struct hs_subject *subject = writing->subject;
    const struct hs_filter *of_samples = subject->not_of_samples ? NULL : subject->filter;
    struct perfetto_counting counting = {0};
    // Sums say how the whole heap went, and nothing of a part of it.
    bool is_aggregate = hs_store__summary(subject->store)->is_aggregate;
    uint64_t end = hs_store__summary(subject->store)->end_time;
    int result = hs_query__timeline(subject->store, is_aggregate ? NULL : subject->filter, 0, end, COUNTER_POINTS,
                                    control, &counting.heap, NULL);
    if (!result)
        result = hs_query__usage(subject->store, of_samples, counting.heap.from, counting.heap.width,
                                 counting.heap.count, control, &counting.usage, NULL);
    write_process(writing);
    for (size_t i = 0; !result && i < COUNTERS; i++) {
        bool known = counters[i].events != HS_EVENTS_HEAP || !is_aggregate || !subject->restriction;
        if (known && hs_events__are_in(counters[i].events, subject->store))
            write_counter(writing, UUID_COUNTERS + i, &counters[i], &counting);
    }
    hs_timeline__free(&counting.heap);
    hs_usage__free(&counting.usage);
    return result;
}

// ---- single samples ------------------------------------------------------------------------------------------------

static int write_calls(struct perfetto_writing *writing)
{
    const struct hs_subject *subject = writing->subject;
    uint32_t pid = hs_store__summary(subject->store)->pid;
    struct hs_sample_list list;
    int result = hs_query__samples(subject->store, subject->events, subject->filter, &list, NULL);
    for (size_t i = 0; !result && i < list.count; i++) {
        hs_buffer__put_field(&writing->part, CALL_PID, pid ? pid : 1);
        hs_buffer__put_field(&writing->part, CALL_TID, list.sample[i]->tid);
        hs_buffer__put_field(&writing->part, CALL_STACK, (uint64_t)list.sample[i]->stack + 1);
        hs_buffer__put_field(&writing->part, CALL_MODE, MODE_USER);
        hs_buffer__put_message(&writing->packet, PACKET_SAMPLE, &writing->part);
        hs_buffer__put_field(&writing->packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
        write_packet(writing, hs_store__monotonic_ns(subject->store, list.sample[i]->time));
    }
    hs_sample_list__free(&list);
    return result;
}

// ---- the file ------------------------------------------------------------------------------------------------------

static int write_all(struct perfetto_writing *writing, const struct hs_query_control *control)
{
    const struct hs_subject *subject = writing->subject;
    const struct hs_summary *summary = hs_store__summary(subject->store);
    int result = 0;
    writing->time = hs_store__monotonic_ns(subject->store, summary->end_time);
    write_clocks(writing);
    if (!subject->kind)
        result = write_counters(writing, control);
    for (size_t i = 0; i < writing->table.frame_count; i++)
        put_frame(writing, i);
    if (!result)
        result = put_stacks(writing);
    write_tables(writing);
    if (hs_subject__knows(subject, HS_COST_PEAK))
        write_samples(writing, summary->is_aggregate ? "at the highest tick" : "at the peak",
                      hs_store__monotonic_ns(subject->store, summary->peak_time), true);
    if (!hs_events__are_samples(subject->events))
        write_samples(writing, subject->events == HS_EVENTS_HEAP ? "malloc" : hs_subject__events(subject)->words,
                      writing->time, false);
    else if (!result)
        result = write_calls(writing);
    return result ? result : writing->failed ? -ENOMEM : 0;
}

int hs_export__perfetto(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct perfetto_writing writing = {.out = out, .subject = subject};
    int result = hs_stack_table__build(&writing.table, subject);
    if (!result)
        result = write_all(&writing, options->control);
    hs_stack_table__free(&writing.table);
    hs_id_map__free(&writing.functions);
    hs_id_map__free(&writing.modules);
    hs_buffer__free(&writing.packet);
    hs_buffer__free(&writing.tables);
    hs_buffer__free(&writing.profile);
    hs_buffer__free(&writing.samples);
    hs_buffer__free(&writing.part);
    hs_buffer__free(&writing.entry);
    return result;
}
