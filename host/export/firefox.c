// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The Firefox Profiler's processed profile, version 60, which later ones read: one thread that holds all allocations
// and frees as native allocations, or each thread with its samples, and a counter of the heap's size. Its tables are
// columns: those of the events are written to temporary files side by side and then put together.
#include "host/base/json.h"
#include "host/base/path.h"
#include "host/export/export.h"
#include "host/export/stack_table.h"
#include "host/query/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNTER_POINTS 2000

enum { COLUMN_TIME, COLUMN_WEIGHT, COLUMN_STACK, COLUMN_ADDRESS, COLUMN_THREAD, COLUMNS };
static const char *const column_names[COLUMNS] = {"time", "weight", "stack", "memoryAddress", "threadId"};

struct firefox_texts {
    const char **text;
    size_t count, room;
    struct hs_id_map known; // by address
    bool failed;
};

struct firefox_writing {
    struct hs_json json;
    const struct hs_subject *subject;
    const struct hs_columns *columns;
    struct hs_stack_table table;
    struct firefox_texts texts, sources,
        resources;      // sources and resources are numbers of texts, kept as their addresses
    uint32_t *function; // by frame
    uint32_t *frame_of; // by function: the first frame of it
    size_t functions;
    uint32_t *stack_of; // by node: number in the stack table + 1
    FILE *column[COLUMNS];
    uint64_t events;
    int64_t change[COUNTER_POINTS]; // of the heap's size
    uint64_t changes[COUNTER_POINTS];
    uint64_t interval;             // ns per point
    struct hs_touching *touching;  // when it is asked for what was touched
    struct hs_sample_list samples; // by thread and time
    struct hs_sample_threads threads;
    uint64_t period; // of the samples
};

// ---- texts ---------------------------------------------------------------------------------------------------------

static uint32_t text_number(struct firefox_texts *texts, const char *text)
{
    uint32_t known = hs_id_map__find(&texts->known, (uintptr_t)text);
    if (known != UINT32_MAX)
        return known;
    if (texts->count == texts->room) {
        const char **bigger = reallocarray((void *)(uintptr_t)texts->text, 2 * texts->room + 256, sizeof(*bigger));
        if (!bigger) {
            texts->failed = true;
            return 0;
        }
        texts->text = bigger;
        texts->room = 2 * texts->room + 256;
    }
    texts->text[texts->count] = text;
    texts->failed |= hs_id_map__set(&texts->known, (uintptr_t)text, (uint32_t)texts->count) != 0;
    return (uint32_t)texts->count++;
}

static void free_texts(struct firefox_texts *texts)
{
    free((void *)(uintptr_t)texts->text);
    hs_id_map__free(&texts->known);
}

// ---- tables --------------------------------------------------------------------------------------------------------

// The viewer joins frames of one function, whatever their lines are.
static int make_functions(struct firefox_writing *writing)
{
    struct hs_id_map known = {0};
    int result = 0;
    writing->function = calloc(writing->table.frame_count + 1, sizeof(*writing->function));
    writing->frame_of = calloc(writing->table.frame_count + 1, sizeof(*writing->frame_of));
    if (!writing->function || !writing->frame_of)
        return -ENOMEM;
    for (size_t i = 0; !result && i < writing->table.frame_count; i++) {
        const struct hs_frame *frame = writing->table.frame[i];
        uint64_t key =
            ((uint64_t)(uintptr_t)hs_frame__identity(frame) * 0x9e3779b97f4a7c15u) ^ (uintptr_t)frame->module;
        uint32_t number = hs_id_map__find(&known, key);
        if (number == UINT32_MAX) {
            number = (uint32_t)writing->functions++;
            writing->frame_of[number] = (uint32_t)i;
            result = hs_id_map__set(&known, key, number);
        }
        writing->function[i] = number;
    }
    hs_id_map__free(&known);
    return result;
}

typedef void (*put_value)(struct firefox_writing *writing, size_t i);

static void put_column(struct firefox_writing *writing, const char *name, size_t count, put_value put)
{
    hs_json__open_array(&writing->json, name);
    for (size_t i = 0; i < count; i++)
        put(writing, i);
    hs_json__close_array(&writing->json);
}

static void put_null(struct firefox_writing *writing, size_t i)
{
    (void)i;
    hs_json__null(&writing->json, NULL);
}

static void put_zero(struct firefox_writing *writing, size_t i)
{
    (void)i;
    hs_json__number(&writing->json, NULL, 0);
}

static void put_minus_one(struct firefox_writing *writing, size_t i)
{
    (void)i;
    hs_json__signed(&writing->json, NULL, -1);
}

static void put_false(struct firefox_writing *writing, size_t i)
{
    (void)i;
    hs_json__boolean(&writing->json, NULL, false);
}

static void put_function(struct firefox_writing *writing, size_t i)
{
    hs_json__number(&writing->json, NULL, writing->function[i]);
}

static void put_inlined(struct firefox_writing *writing, size_t i)
{
    hs_json__number(&writing->json, NULL, writing->table.frame[i]->inlined);
}

static void put_line(struct firefox_writing *writing, size_t i)
{
    if (writing->table.frame[i]->line)
        hs_json__number(&writing->json, NULL, writing->table.frame[i]->line);
    else
        hs_json__null(&writing->json, NULL);
}

static void put_function_name(struct firefox_writing *writing, size_t i)
{
    const struct hs_frame *frame = writing->table.frame[writing->frame_of[i]];
    hs_json__number(&writing->json, NULL, text_number(&writing->texts, frame->function));
}

static void put_function_source(struct firefox_writing *writing, size_t i)
{
    const struct hs_frame *frame = writing->table.frame[writing->frame_of[i]];
    if (frame->file)
        hs_json__number(&writing->json, NULL, text_number(&writing->sources, frame->file));
    else
        hs_json__null(&writing->json, NULL);
}

static void put_function_resource(struct firefox_writing *writing, size_t i)
{
    const struct hs_frame *frame = writing->table.frame[writing->frame_of[i]];
    if (*frame->module)
        hs_json__number(&writing->json, NULL, text_number(&writing->resources, frame->module));
    else
        hs_json__signed(&writing->json, NULL, -1);
}

static void put_resource_name(struct firefox_writing *writing, size_t i)
{
    const char *name = hs_path__name(writing->resources.text[i]);
    hs_json__number(&writing->json, NULL, text_number(&writing->texts, name));
}

static void put_resource_type(struct firefox_writing *writing, size_t i)
{
    (void)i;
    hs_json__number(&writing->json, NULL, 1); // a library
}

static void put_source_name(struct firefox_writing *writing, size_t i)
{
    hs_json__number(&writing->json, NULL, text_number(&writing->texts, writing->sources.text[i]));
}

static void open_table(struct firefox_writing *writing, const char *name, size_t length)
{
    hs_json__open_object(&writing->json, name);
    hs_json__number(&writing->json, "length", length);
}

static void write_frames(struct firefox_writing *writing)
{
    size_t count = writing->table.frame_count;
    open_table(writing, "frameTable", count);
    put_column(writing, "address", count, put_minus_one);
    put_column(writing, "inlineDepth", count, put_inlined);
    put_column(writing, "category", count, put_zero);
    put_column(writing, "subcategory", count, put_zero);
    put_column(writing, "func", count, put_function);
    put_column(writing, "nativeSymbol", count, put_null);
    put_column(writing, "innerWindowID", count, put_null);
    put_column(writing, "line", count, put_line);
    put_column(writing, "column", count, put_null);
    hs_json__close_object(&writing->json);
}

static void write_functions(struct firefox_writing *writing)
{
    size_t count = writing->functions;
    open_table(writing, "funcTable", count);
    put_column(writing, "name", count, put_function_name);
    put_column(writing, "isJS", count, put_false);
    put_column(writing, "relevantForJS", count, put_false);
    put_column(writing, "resource", count, put_function_resource);
    put_column(writing, "source", count, put_function_source);
    put_column(writing, "lineNumber", count, put_null);
    put_column(writing, "columnNumber", count, put_null);
    hs_json__close_object(&writing->json);
    count = writing->resources.count;
    open_table(writing, "resourceTable", count);
    put_column(writing, "type", count, put_resource_type);
    put_column(writing, "lib", count, put_null);
    put_column(writing, "name", count, put_resource_name);
    put_column(writing, "host", count, put_null);
    hs_json__close_object(&writing->json);
    count = writing->sources.count;
    open_table(writing, "sources", count);
    put_column(writing, "id", count, put_null);
    put_column(writing, "filename", count, put_source_name);
    hs_json__close_object(&writing->json);
}

static void write_no_symbols(struct firefox_writing *writing)
{
    static const char *const columns[] = {"libIndex", "address", "name", "functionSize"};
    open_table(writing, "nativeSymbols", 0);
    for (size_t i = 0; i < 4; i++)
        put_column(writing, columns[i], 0, NULL);
    hs_json__close_object(&writing->json);
}

// ---- stacks --------------------------------------------------------------------------------------------------------

struct stack_columns {
    FILE *frame, *prefix;
    uint32_t count;
};

static void add_stack(struct stack_columns *to, uint32_t frame, uint32_t prefix)
{
    const char *separator = to->count ? "," : "";
    fprintf(to->frame, "%s%" PRIu32, separator, frame);
    if (prefix)
        fprintf(to->prefix, "%s%" PRIu32, separator, prefix - 1);
    else
        fprintf(to->prefix, "%snull", separator);
    to->count++;
}

static void mark_nodes(struct firefox_writing *writing)
{
    const struct hs_totals *totals = &writing->subject->totals;
    for (size_t i = 0; i < totals->count; i++) {
        uint32_t node = totals->total[i].stack;
        for (; node && node < writing->table.node_count && !writing->stack_of[node];
             node = hs_trace_symbols__parent(writing->subject->symbols, node))
            writing->stack_of[node] = 1;
    }
}

static void add_node(struct firefox_writing *writing, struct stack_columns *to, uint32_t node)
{
    uint32_t count;
    const uint32_t *frame = hs_stack_table__node(&writing->table, node, &count);
    uint32_t parent = hs_trace_symbols__parent(writing->subject->symbols, node);
    uint32_t prefix = parent ? writing->stack_of[parent] : 0;
    while (count--) {
        add_stack(to, frame[count], prefix);
        prefix = to->count;
    }
    writing->stack_of[node] = prefix;
}

// Copies a temporary file into the array that is written next, and closes it.
static void put_file(struct firefox_writing *writing, const char *name, FILE *file)
{
    char buffer[65536];
    size_t got;
    hs_json__open_array(&writing->json, name);
    rewind(file);
    while ((got = fread(buffer, 1, sizeof(buffer), file)))
        fwrite(buffer, 1, got, writing->json.out);
    hs_json__close_array(&writing->json);
}

static int write_stacks(struct firefox_writing *writing)
{
    struct stack_columns to = {tmpfile(), tmpfile(), 0};
    writing->stack_of = calloc(writing->table.node_count + 1, sizeof(*writing->stack_of));
    int result = !writing->stack_of ? -ENOMEM : to.frame && to.prefix ? 0 : -EIO;
    if (!result) {
        mark_nodes(writing);
        for (uint32_t node = 0; node < writing->table.node_count; node++) {
            if (!node || writing->stack_of[node])
                add_node(writing, &to, node);
        }
        open_table(writing, "stackTable", to.count);
        put_file(writing, "frame", to.frame);
        put_file(writing, "prefix", to.prefix);
        hs_json__close_object(&writing->json);
        result = ferror(to.frame) || ferror(to.prefix) ? -EIO : 0;
    }
    if (to.frame)
        fclose(to.frame);
    if (to.prefix)
        fclose(to.prefix);
    return result;
}

static int write_shared(struct firefox_writing *writing)
{
    hs_json__open_object(&writing->json, "shared");
    int result = write_stacks(writing);
    write_frames(writing);
    write_functions(writing);
    write_no_symbols(writing);
    // Behind all that refers to them.
    hs_json__open_array(&writing->json, "stringArray");
    for (size_t i = 0; i < writing->texts.count; i++)
        hs_json__string(&writing->json, NULL, writing->texts.text[i]);
    hs_json__close_array(&writing->json);
    hs_json__close_object(&writing->json);
    bool failed = writing->texts.failed || writing->sources.failed || writing->resources.failed;
    return result ? result : failed ? -ENOMEM : 0;
}

// ---- events --------------------------------------------------------------------------------------------------------

static void put_time(FILE *out, const char *separator, uint64_t ns)
{
    fprintf(out, "%s%" PRIu64 ".%06" PRIu64, separator, ns / 1000000, ns % 1000000);
}

static int add_event(void *context, const struct hs_store *store, struct hs_row_event *event)
{
    struct firefox_writing *writing = context;
    uint64_t size = writing->touching ? hs_touching__bytes(writing->touching, event->row)
                                      : hs_row__size(writing->columns, event->row);
    if (writing->touching && !size)
        return 0;
    const char *separator = writing->events++ ? "," : "";
    uint32_t stack =
        event->is_free ? hs_row__free_stack(writing->columns, event->row) : hs_row__stack(writing->columns, event->row);
    uint32_t stream = event->is_free ? hs_row__free_stream(writing->columns, event->row)
                                     : hs_row__stream(writing->columns, event->row);
    const struct hs_thread *thread = hs_store__thread(store, stream);
    uint32_t number = stack < writing->table.node_count ? writing->stack_of[stack] : 0;
    bool has_stack = number && (stack || !event->is_free);
    put_time(writing->column[COLUMN_TIME], separator, event->time);
    fprintf(writing->column[COLUMN_WEIGHT], "%s%s%" PRIu64, separator, event->is_free ? "-" : "", size);
    if (has_stack)
        fprintf(writing->column[COLUMN_STACK], "%s%" PRIu32, separator, number - 1);
    else
        fprintf(writing->column[COLUMN_STACK], "%snull", separator);
    fprintf(writing->column[COLUMN_ADDRESS], "%s%" PRIu64, separator, hs_row__address(writing->columns, event->row));
    fprintf(writing->column[COLUMN_THREAD], "%s%" PRIu32, separator, thread ? thread->tid : 0);
    uint64_t point = event->time / writing->interval;
    point = point < COUNTER_POINTS ? point : COUNTER_POINTS - 1;
    writing->change[point] += event->is_free ? -(int64_t)size : (int64_t)size;
    writing->changes[point]++;
    return 0;
}

static int write_allocations(struct firefox_writing *writing, const struct hs_query_control *control)
{
    int result = 0;
    for (int i = 0; i < COLUMNS; i++) {
        writing->column[i] = tmpfile();
        if (!writing->column[i])
            result = -errno;
    }
    if (!result)
        result = hs_query__events(writing->subject->store, writing->subject->filter, control, add_event, writing, NULL);
    open_table(writing, "nativeAllocations", writing->events);
    hs_json__string(&writing->json, "weightType", "bytes");
    for (int i = 0; i < COLUMNS; i++) {
        if (!writing->column[i])
            continue;
        if (!result) {
            result = fflush(writing->column[i]) ? -EIO : 0;
            put_file(writing, column_names[i], writing->column[i]);
        }
        fclose(writing->column[i]);
    }
    hs_json__close_object(&writing->json);
    return result;
}

static void write_empty_table(struct firefox_writing *writing, const char *name, const char *const *columns)
{
    open_table(writing, name, 0);
    for (; *columns; columns++)
        put_column(writing, *columns, 0, NULL);
    hs_json__close_object(&writing->json);
}

static void open_thread(struct firefox_writing *writing, uint32_t tid, const char *name, bool is_main)
{
    struct hs_json *json = &writing->json;
    char pid[16];
    snprintf(pid, sizeof(pid), "%" PRIu32, hs_store__summary(writing->subject->store)->pid);
    hs_json__open_object(json, NULL);
    hs_json__string(json, "processType", "default");
    hs_json__string(json, "processName", hs_program_name(writing->subject->store));
    hs_json__number(json, "processStartupTime", 0);
    hs_json__null(json, "processShutdownTime");
    hs_json__number(json, "registerTime", 0);
    hs_json__null(json, "unregisterTime");
    hs_json__open_array(json, "pausedRanges");
    hs_json__close_array(json);
    hs_json__string(json, "name", name);
    hs_json__boolean(json, "isMainThread", is_main);
    hs_json__string(json, "pid", pid);
    hs_json__number(json, "tid", tid);
}

static void close_thread(struct firefox_writing *writing)
{
    static const char *const markers[] = {"data", "name", "startTime", "endTime", "phase", "category", NULL};
    write_empty_table(writing, "markers", markers);
}

#define MAIN_THREAD "GeckoMain" // the one that is shown first

static int write_thread_of_blocks(struct firefox_writing *writing, const struct hs_query_control *control)
{
    struct hs_json *json = &writing->json;
    open_thread(writing, hs_store__summary(writing->subject->store)->pid, MAIN_THREAD, true);
    open_table(writing, "samples", 0);
    put_column(writing, "stack", 0, NULL);
    put_column(writing, "time", 0, NULL);
    hs_json__null(json, "weight");
    hs_json__string(json, "weightType", "samples");
    hs_json__close_object(json);
    close_thread(writing);
    if (hs_events__are_touched(writing->subject->events))
        writing->touching = hs_touching__create(writing->subject->store);
    int result =
        writing->touching || writing->subject->events == HS_EVENTS_HEAP ? write_allocations(writing, control) : -ENOMEM;
    hs_json__close_object(json);
    return result;
}

// ---- samples -------------------------------------------------------------------------------------------------------

static int compare_by_thread(const void *left, const void *right)
{
    const struct hs_sample *a = *(const struct hs_sample *const *)left, *b = *(const struct hs_sample *const *)right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a > b) - (a < b);
}

static int collect_samples(struct firefox_writing *writing)
{
    const struct hs_subject *subject = writing->subject;
    int result = hs_query__samples(subject->store, subject->events, subject->filter, &writing->samples, NULL);
    if (!result)
        result = hs_sample_threads__make(&writing->threads, subject->store);
    if (result)
        return result;
    qsort(writing->samples.sample, writing->samples.count, sizeof(*writing->samples.sample), compare_by_thread);
    writing->period = writing->samples.count ? writing->samples.sample[0]->weight : 0;
    return 0;
}

static void put_sample_stack(struct firefox_writing *writing, const struct hs_sample *sample)
{
    uint32_t number = sample->stack < writing->table.node_count ? writing->stack_of[sample->stack] : 0;
    if (number)
        hs_json__number(&writing->json, NULL, number - 1);
    else
        hs_json__null(&writing->json, NULL);
}

static void put_sample_time(struct firefox_writing *writing, const struct hs_sample *sample)
{
    hs_json__real(&writing->json, NULL, (double)sample->time / 1e6);
}

// Milliseconds, or page faults.
static void put_sample_weight(struct firefox_writing *writing, const struct hs_sample *sample)
{
    if (hs_events__are_times(writing->subject->events))
        hs_json__real(&writing->json, NULL, (double)sample->weight / 1e6);
    else
        hs_json__number(&writing->json, NULL, sample->weight);
}

static void put_sample_cpu(struct firefox_writing *writing, const struct hs_sample *sample)
{
    hs_json__number(&writing->json, NULL, sample->weight);
}

static void put_samples(struct firefox_writing *writing, const char *name, size_t first, size_t end,
                        void (*put)(struct firefox_writing *writing, const struct hs_sample *sample))
{
    hs_json__open_array(&writing->json, name);
    for (size_t i = first; i < end; i++)
        put(writing, writing->samples.sample[i]);
    hs_json__close_array(&writing->json);
}

static void write_thread_of_samples(struct firefox_writing *writing, size_t first, size_t end)
{
    struct hs_json *json = &writing->json;
    const struct hs_sample *last = writing->samples.sample[end - 1];
    const struct hs_thread *thread = hs_sample_threads__find(&writing->threads, last->tid, last->time);
    bool is_main = last->tid == hs_store__summary(writing->subject->store)->pid;
    bool is_cpu = writing->subject->events == HS_EVENTS_CPU;
    char number[32]; // of one that never allocated
    snprintf(number, sizeof(number), "thread %" PRIu32, last->tid);
    open_thread(writing, last->tid, is_main ? MAIN_THREAD : thread && *thread->name ? thread->name : number, is_main);
    open_table(writing, "samples", end - first);
    put_samples(writing, "stack", first, end, put_sample_stack);
    put_samples(writing, "time", first, end, put_sample_time);
    put_samples(writing, "weight", first, end, put_sample_weight);
    hs_json__string(json, "weightType", hs_events__are_times(writing->subject->events) ? "tracing-ms" : "samples");
    if (is_cpu)
        put_samples(writing, "threadCPUDelta", first, end, put_sample_cpu);
    hs_json__close_object(json);
    close_thread(writing);
    hs_json__close_object(json);
}

static int write_threads(struct firefox_writing *writing, const struct hs_query_control *control)
{
    size_t first = 0;
    if (!hs_events__are_samples(writing->subject->events))
        return write_thread_of_blocks(writing, control);
    for (size_t i = 1; i <= writing->samples.count; i++) {
        if (i < writing->samples.count && writing->samples.sample[i]->tid == writing->samples.sample[first]->tid)
            continue;
        write_thread_of_samples(writing, first, i);
        first = i;
    }
    return 0;
}

// ---- over time -----------------------------------------------------------------------------------------------------

// Beside samples: what the filter asks for of the heap.
static int count_heap(struct firefox_writing *writing, const struct hs_query_control *control)
{
    struct hs_timeline timeline;
    const struct hs_subject *subject = writing->subject;
    int result = hs_query__timeline(subject->store, subject->filter, 0, hs_store__summary(subject->store)->end_time,
                                    COUNTER_POINTS, control, &timeline, NULL);
    if (result)
        return result;
    uint64_t before = 0;
    writing->interval = timeline.width;
    for (size_t i = 0; i < timeline.count && i < COUNTER_POINTS; i++) {
        writing->change[i] = (int64_t)(timeline.point[i].live_bytes_end - before);
        writing->changes[i] = timeline.point[i].allocated_count + timeline.point[i].freed_count;
        before = timeline.point[i].live_bytes_end;
    }
    hs_timeline__free(&timeline);
    return 0;
}

static void write_counter(struct firefox_writing *writing)
{
    struct hs_json *json = &writing->json;
    char pid[16];
    snprintf(pid, sizeof(pid), "%" PRIu32, hs_store__summary(writing->subject->store)->pid);
    hs_json__open_object(json, NULL);
    hs_json__string(json, "name", "malloc");
    hs_json__string(json, "category", "Memory");
    hs_json__string(json, "description", "Bytes in use");
    hs_json__string(json, "pid", pid);
    hs_json__number(json, "mainThreadIndex", 0);
    open_table(writing, "samples", COUNTER_POINTS);
    hs_json__open_array(json, "time");
    for (uint64_t i = 0; i < COUNTER_POINTS; i++)
        hs_json__real(json, NULL, (double)((i + 1) * writing->interval) / 1e6);
    hs_json__close_array(json);
    hs_json__open_array(json, "count");
    for (size_t i = 0; i < COUNTER_POINTS; i++)
        hs_json__signed(json, NULL, writing->change[i]);
    hs_json__close_array(json);
    hs_json__open_array(json, "number");
    for (size_t i = 0; i < COUNTER_POINTS; i++)
        hs_json__number(json, NULL, writing->changes[i]);
    hs_json__close_array(json);
    hs_json__close_object(json);
    hs_json__close_object(json);
}

// ---- the file ------------------------------------------------------------------------------------------------------

static void write_meta(struct firefox_writing *writing)
{
    struct hs_json *json = &writing->json;
    uint64_t start = hs_store__realtime_ns(writing->subject->store, 0);
    hs_json__open_object(json, "meta");
    hs_json__number(json, "preprocessedProfileVersion", 60);
    hs_json__number(json, "version", 27);
    hs_json__string(json, "product", "heapsonde");
    hs_json__string(json, "arguments", hs_program_name(writing->subject->store));
    hs_json__real(json, "startTime", (double)start / 1e6);
    hs_json__real(json, "interval", writing->subject->events == HS_EVENTS_CPU ? (double)writing->period / 1e6 : 1);
    hs_json__number(json, "processType", 0);
    hs_json__number(json, "stackwalk", 1);
    hs_json__number(json, "debug", 0);
    hs_json__number(json, "gcpoison", 0);
    hs_json__number(json, "asyncstack", 0);
    hs_json__boolean(json, "symbolicated", true);
    if (writing->subject->events == HS_EVENTS_CPU) {
        hs_json__open_object(json, "sampleUnits");
        hs_json__string(json, "time", "ms");
        hs_json__string(json, "eventDelay", "ms");
        hs_json__string(json, "threadCPUDelta", "ns");
        hs_json__close_object(json);
    }
    hs_json__open_array(json, "categories");
    hs_json__open_object(json, NULL);
    hs_json__string(json, "name", "Other");
    hs_json__string(json, "color", "grey");
    hs_json__open_array(json, "subcategories");
    hs_json__string(json, NULL, "Other");
    hs_json__close_array(json);
    hs_json__close_object(json);
    hs_json__close_array(json);
    hs_json__open_array(json, "markerSchema");
    hs_json__close_array(json);
    hs_json__close_object(json);
}

static int write_profile(struct firefox_writing *writing, const struct hs_export_options *options)
{
    struct hs_json *json = &writing->json;
    hs_json__open_object(json, NULL);
    write_meta(writing);
    hs_json__open_array(json, "libs");
    hs_json__close_array(json);
    int result = write_shared(writing);
    hs_json__open_array(json, "threads");
    if (!result)
        result = write_threads(writing, options->control);
    hs_json__close_array(json);
    hs_json__open_array(json, "counters");
    write_counter(writing);
    hs_json__close_array(json);
    hs_json__close_object(json);
    return result;
}

int hs_export__firefox(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct firefox_writing *writing = calloc(1, sizeof(*writing));
    if (!writing)
        return -ENOMEM;
    writing->subject = subject;
    writing->columns = hs_store__columns(subject->store);
    writing->interval = hs_store__summary(subject->store)->end_time / COUNTER_POINTS + 1;
    hs_json__start(&writing->json, out, false);
    int result = hs_stack_table__build(&writing->table, subject);
    if (!result)
        result = make_functions(writing);
    if (!result && hs_events__are_samples(subject->events))
        result = collect_samples(writing);
    if (!result && hs_events__are_samples(subject->events))
        result = count_heap(writing, options->control);
    if (!result)
        result = write_profile(writing, options);
    hs_stack_table__free(&writing->table);
    free_texts(&writing->texts);
    free_texts(&writing->sources);
    free_texts(&writing->resources);
    free(writing->function);
    free(writing->frame_of);
    free(writing->stack_of);
    hs_touching__destroy(writing->touching);
    hs_sample_list__free(&writing->samples);
    hs_sample_threads__free(&writing->threads);
    free(writing);
    return result;
}
