// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/tables.h"

#include "format/meta.h"
#include "host/base/memory.h"
#include "host/import/finish.h"

#include <errno.h>
#include <string.h>

#define STRINGS_LIMIT (1u << 30)
#define NO_MODULE     (UINT32_MAX - 1)
#define NODES_PACKED  8 // for each byte of the file: real ones have less than one, and one that is made has thousands

int hs_import_tables__create(struct hs_import_tables *tables, int directory_fd)
{
    int failed = hs_column_file__create(&tables->nodes, directory_fd, "nodes", sizeof(struct hs_node));
    if (!failed)
        failed = hs_column_file__reserve(&tables->nodes, 1);
    if (!failed)
        failed = hs_growing__reserve(&tables->node_epochs, sizeof(uint32_t));
    tables->node_count = 1;
    tables->culled_allowance.left = HS_ALLOWANCE_CULLED;
    uint64_t *start = hs_array__add(&tables->epochs, sizeof *start);
    if (!start)
        return -ENOMEM;
    *start = 0;
    char *empty = hs_array__add(&tables->strings, 1);
    if (!empty)
        return -ENOMEM;
    *empty = 0;
    return failed;
}

void hs_import_tables__free(struct hs_import_tables *tables)
{
    hs_column_file__abandon(&tables->nodes);
    hs_growing__free(&tables->node_epochs);
    hs_same_stacks__free(&tables->same);
    free(tables->epochs.data);
    free(tables->strings.data);
    free(tables->modules.data);
    free(tables->threads.data);
    hs_id_map__free(&tables->thread_of);
    hs_id_map__free(&tables->module_at);
    free(tables->clock.data);
    free(tables->side.data);
    free(tables->info.data);
    free(tables->culled.data);
    free(tables->embedded.data);
    free(tables->functions.data);
    hs_snapshot_records__free(&tables->snapshots);
}

// Appends bytes and a NUL; returns the offset, 0 (the empty string) when there is no room.
static uint32_t add_bytes(struct hs_import_tables *tables, struct hs_bytes bytes)
{
    struct hs_array *strings = &tables->strings;
    size_t needed = strings->count + bytes.length + 1;
    if (!bytes.length || needed > STRINGS_LIMIT)
        return 0;
    if (needed > strings->capacity) {
        size_t capacity = needed < 4096 ? 4096 : 2 * needed;
        char *grown = realloc(strings->data, capacity);
        if (!grown)
            return 0;
        strings->data = grown;
        strings->capacity = capacity;
    }
    uint32_t offset = (uint32_t)strings->count;
    memcpy((char *)strings->data + offset, bytes.data, bytes.length);
    ((char *)strings->data)[needed - 1] = 0;
    strings->count = needed;
    return offset;
}

static const char *string_at(const struct hs_import_tables *tables, uint32_t offset)
{
    return (const char *)tables->strings.data + offset;
}

const char *hs_import_tables__info(const struct hs_import_tables *tables, const char *key)
{
    const struct hs_stored_info *info = tables->info.data;
    for (size_t i = 0; i < tables->info.count; i++)
        if (!strcmp(string_at(tables, info[i].key), key))
            return string_at(tables, info[i].value);
    return NULL;
}

// ---- records -------------------------------------------------------------------------------------------------------

static int add_nodes(struct hs_import_tables *tables, uint32_t first, const struct hs_meta_node *nodes, size_t count)
{
    const size_t room = first < tables->node_limit ? tables->node_limit - first : 0;
    tables->nodes_left_out |= count > room;
    count = count < room ? count : room;
    if (!count)
        return 0;
    if (first + count > tables->node_most) {
        tables->nodes_too_many = true;
        return 0;
    }
    uint32_t end = first + (uint32_t)count;
    int failed = hs_column_file__reserve(&tables->nodes, end);
    if (!failed)
        failed = hs_growing__reserve(&tables->node_epochs, (size_t)end * sizeof(uint32_t));
    if (failed)
        return failed;
    struct hs_node *to = tables->nodes.data;
    uint32_t *epoch = tables->node_epochs.data;
    for (size_t i = 0; i < count; i++) {
        epoch[first + i] = (uint32_t)tables->epochs.count - 1;
        to[first + i] = (struct hs_node){.pc = nodes[i].pc, .parent = nodes[i].parent};
    }
    if (end > tables->node_count)
        tables->node_count = end;
    return 0;
}

static int add_node(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    const struct hs_meta_node node = {.pc = record->pc, .parent = record->parent};
    return add_nodes(tables, record->id, &node, 1);
}

// Modules change: from now on nodes have this time.
static int begin_epoch(struct hs_import_tables *tables, uint64_t time)
{
    const uint64_t *last = (const uint64_t *)tables->epochs.data + (tables->epochs.count - 1);
    if (time <= *last)
        return 0;
    uint64_t *added = hs_array__add(&tables->epochs, sizeof *added);
    if (!added)
        return -ENOMEM;
    *added = time;
    return 0;
}

static int add_module(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    uint32_t below = hs_id_map__find(&tables->module_at, record->start);
    if (hs_id_map__set(&tables->module_at, record->start, (uint32_t)tables->modules.count))
        return -ENOMEM;
    struct hs_stored_module *module = hs_array__add(&tables->modules, sizeof *module);
    if (!module)
        return -ENOMEM;
    *module = (struct hs_stored_module){.start = record->start,
                                        .end = record->end,
                                        .bias = record->bias,
                                        .load_time = record->time,
                                        .unload_time = HS_NEVER,
                                        .path = add_bytes(tables, record->text),
                                        .build_id = add_bytes(tables, record->build_id),
                                        .build_id_length = (uint32_t)record->build_id.length,
                                        .below = below == UINT32_MAX ? NO_MODULE : below};
    if (!module->build_id)
        module->build_id_length = 0;
    return begin_epoch(tables, record->time);
}

static int note_layout(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    struct hs_stored_module *modules = tables->modules.data;
    if (tables->modules.count) {
        modules[tables->modules.count - 1].layout = (uint32_t)record->value;
        modules[tables->modules.count - 1].inode = record->inode;
    }
    return 0;
}

static int unload(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    struct hs_stored_module *modules = tables->modules.data;
    uint32_t last = hs_id_map__find(&tables->module_at, record->start);
    if (last < tables->modules.count) {
        modules[last].unload_time = record->time;
        hs_id_map__set(&tables->module_at, record->start, modules[last].below); // there already: takes no memory
    }
    return begin_epoch(tables, record->time);
}

// A stream may be named again; the last name counts.
static int add_thread(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    struct hs_stored_thread *threads = tables->threads.data;
    uint32_t known = hs_id_map__find(&tables->thread_of, record->stream);
    if (known != UINT32_MAX) {
        threads[known].tid = record->tid;
        if (record->text.length)
            threads[known].name = add_bytes(tables, record->text);
        return 0;
    }
    if (hs_id_map__set(&tables->thread_of, record->stream, (uint32_t)tables->threads.count))
        return -ENOMEM;
    struct hs_stored_thread *thread = hs_array__add(&tables->threads, sizeof *thread);
    if (!thread)
        return -ENOMEM;
    *thread = (struct hs_stored_thread){.stream = record->stream,
                                        .tid = record->tid,
                                        .start_time = record->time,
                                        .name = add_bytes(tables, record->text)};
    return 0;
}

int hs_import_tables__add_info(struct hs_import_tables *tables, const char *key, const char *value)
{
    struct hs_stored_info *info = hs_array__add(&tables->info, sizeof *info);
    if (!info)
        return -ENOMEM;
    info->key = add_bytes(tables, (struct hs_bytes){(const uint8_t *)key, strlen(key)});
    info->value = add_bytes(tables, (struct hs_bytes){(const uint8_t *)value, strlen(value)});
    return 0;
}

static int add_info(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    struct hs_stored_info *info = hs_array__add(&tables->info, sizeof *info);
    if (!info)
        return -ENOMEM;
    info->key = add_bytes(tables, record->key);
    info->value = add_bytes(tables, record->text);
    // Lists such as the command line are joined by NUL in the trace and by spaces here.
    char *text = (char *)tables->strings.data + info->value;
    size_t length = info->value ? record->text.length : 0;
    while (length && !text[length - 1])
        length--;
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = ' ';
    return 0;
}

static int add_side(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    struct hs_stored_side_event *side = hs_array__add(&tables->side, sizeof *side);
    if (!side)
        return -ENOMEM;
    *side = (struct hs_stored_side_event){.time = record->time,
                                          .kind = record->tag == HS_META_TOGGLE ? HS_SIDE_TOGGLE : HS_SIDE_MARK,
                                          .stream = record->stream,
                                          .value = (int64_t)record->value,
                                          .text = add_bytes(tables, record->text)};
    return 0;
}

static int add_culled(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    struct hs_culled *culled = hs_array__add(&tables->culled, sizeof *culled);
    if (!culled)
        return -ENOMEM;
    struct hs_allowance *allowance = &tables->culled_allowance;
    const uint64_t slack = record->usable > record->size ? record->usable - record->size : 0;
    *culled = (struct hs_culled){.stack = record->id,
                                 .count = hs_allowance__take(allowance, record->count),
                                 .size = hs_allowance__take(allowance, record->size),
                                 .lifetime_ns = record->lifetime};
    culled->usable = culled->size + hs_allowance__take(allowance, slack);
    return 0;
}

static int add_function(struct hs_import_tables *tables, const struct hs_meta_code *code)
{
    struct hs_stored_function *function = hs_array__add(&tables->functions, sizeof *function);
    if (!function)
        return -ENOMEM;
    *function = (struct hs_stored_function){.start = code->start,
                                            .end = code->end,
                                            .first_line = code->first_line,
                                            .kind = code->kind,
                                            .function = add_bytes(tables, code->function),
                                            .file = add_bytes(tables, code->file),
                                            .lines = add_bytes(tables, code->lines)};
    function->lines_length = function->lines ? (uint32_t)code->lines.length : 0;
    return 0;
}

static int add_record(struct hs_import_tables *tables, const struct hs_meta_record *record)
{
    switch (record->tag) {
    case HS_META_NODE:
        return add_node(tables, record);
    case HS_META_MODULE:
        return add_module(tables, record);
    case HS_META_LAYOUT:
        return note_layout(tables, record);
    case HS_META_UNLOAD:
        return unload(tables, record);
    case HS_META_THREAD:
        return add_thread(tables, record);
    case HS_META_CLOCK:
        return hs_clock_map__add_point(&tables->clock, record);
    case HS_META_INFO:
        return add_info(tables, record);
    case HS_META_CULLED:
        return add_culled(tables, record);
    case HS_META_CODE:
        return add_function(tables, &record->code);
    case HS_META_SNAPSHOT:
        return hs_snapshot_records__add(&tables->snapshots, record);
    default:
        return add_side(tables, record);
    }
}

// ---- chunks --------------------------------------------------------------------------------------------------------

static void count_damage(struct hs_import_tables *tables, enum hs_damage reason, const struct hs_trace_chunk *chunk)
{
    tables->damage[reason]++;
    tables->damage_bytes[reason] += chunk->stored_length;
}

#define NODES 512

// Returns as hs_meta_next does at the end, or a negative errno in *failed.
static int add_records(struct hs_import_tables *tables, struct hs_meta_reader *reader, int *failed)
{
    struct hs_meta_node nodes[NODES];
    struct hs_meta_record record;
    for (;;) {
        uint32_t first;
        size_t count = hs_meta_nodes(reader, &first, nodes, NODES);
        *failed = count ? add_nodes(tables, first, nodes, count) : 0;
        int more = !*failed && count < NODES ? hs_meta_next(reader, &record) : 0;
        if (more > 0)
            *failed = add_record(tables, &record);
        if (*failed || (more <= 0 && count < NODES))
            return more;
    }
}

static int load_meta(struct hs_import_tables *tables, const struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    uint8_t *payload;
    size_t length, skip = hs_trace_chunk__records(chunk);
    int failed = hs_trace__payload(trace, chunk, &payload, &length);
    if (failed == -ENOMEM)
        return failed;
    if (failed) {
        count_damage(tables, failed == -EBADMSG ? HS_DAMAGE_DECODE : HS_DAMAGE_CHECKSUM, chunk);
        return 0;
    }
    struct hs_meta_reader reader;
    hs_meta_open(&reader, payload + skip, length > skip ? length - skip : 0);
    tables->nodes_left_out = false;
    int more = add_records(tables, &reader, &failed);
    if (!failed && (more < 0 || tables->nodes_left_out))
        count_damage(tables, HS_DAMAGE_META, chunk);
    free(payload);
    return failed;
}

// The name of an embedded file is kept; the contents stay in the trace.
static int load_file(struct hs_import_tables *tables, const struct hs_trace *trace, const struct hs_trace_chunk *chunk)
{
    uint8_t *payload;
    size_t length;
    int failed = hs_trace__payload(trace, chunk, &payload, &length);
    if (failed == -ENOMEM)
        return failed;
    const uint8_t *end = failed ? NULL : memchr(payload, 0, length);
    if (!end) {
        count_damage(tables, failed && failed != -EBADMSG ? HS_DAMAGE_CHECKSUM : HS_DAMAGE_DECODE, chunk);
        free(payload);
        return 0;
    }
    struct hs_stored_embedded *embedded = hs_array__add(&tables->embedded, sizeof *embedded);
    if (embedded)
        *embedded =
            (struct hs_stored_embedded){.name = add_bytes(tables, (struct hs_bytes){payload, (size_t)(end - payload)}),
                                        .length = length - (size_t)(end - payload) - 1,
                                        .chunk_offset = chunk->offset};
    free(payload);
    return embedded ? 0 : -ENOMEM;
}

static int compare_order(const void *left, const void *right)
{
    const struct hs_trace_chunk *a = *(const struct hs_trace_chunk *const *)left;
    const struct hs_trace_chunk *b = *(const struct hs_trace_chunk *const *)right;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static uint32_t at_most_32_bits(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

int hs_import_tables__load(struct hs_import_tables *tables, const struct hs_trace *trace)
{
    size_t count, metas = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    const struct hs_trace_chunk **order = malloc((count + 1) * sizeof *order);
    uint64_t bytes = 0;
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (chunks[i].kind != HS_CHUNK_META && chunks[i].kind != HS_CHUNK_FILE)
            continue;
        order[metas++] = &chunks[i];
        bytes += chunks[i].plain_length;
    }
    // A node takes three plain bytes; lost chunks may leave gaps. What is far beyond that is damage.
    tables->node_limit = at_most_32_bits(65536 + 2 * bytes);
    tables->node_most = at_most_32_bits(hs_memory__unpacked(hs_trace__info(trace)->file_size, NODES_PACKED));
    qsort(order, metas, sizeof *order, compare_order);
    int failed = 0;
    for (size_t i = 0; i < metas && !failed; i++)
        failed =
            order[i]->kind == HS_CHUNK_META ? load_meta(tables, trace, order[i]) : load_file(tables, trace, order[i]);
    free(order);
    if (!failed && tables->nodes_too_many)
        failed = -ENOBUFS;
    if (!failed)
        failed = hs_same_stacks__find(&tables->same, tables->nodes.data, tables->node_count, tables->node_epochs.data,
                                      tables->epochs.data, &tables->modules);
    tables->node_count -= (uint32_t)tables->same.merged;
    return failed;
}

// ---- conversion and writing ----------------------------------------------------------------------------------------

static uint64_t to_ns(struct hs_clock_map *clock, uint64_t time)
{
    return time == HS_NEVER ? HS_NEVER : hs_clock_map__ns(clock, time);
}

void hs_import_tables__convert(struct hs_import_tables *tables, struct hs_clock_map *clock)
{
    uint64_t *epochs = tables->epochs.data;
    for (size_t i = 0; i < tables->epochs.count; i++)
        epochs[i] = to_ns(clock, epochs[i]);
    struct hs_stored_module *modules = tables->modules.data;
    for (size_t i = 0; i < tables->modules.count; i++) {
        modules[i].load_time = to_ns(clock, modules[i].load_time);
        modules[i].unload_time = to_ns(clock, modules[i].unload_time);
    }
    struct hs_stored_thread *threads = tables->threads.data;
    for (size_t i = 0; i < tables->threads.count; i++)
        threads[i].start_time = to_ns(clock, threads[i].start_time);
    struct hs_stored_side_event *side = tables->side.data;
    for (size_t i = 0; i < tables->side.count; i++)
        side[i].time = to_ns(clock, side[i].time);
    struct hs_clock_point *points = tables->clock.data;
    for (size_t i = 0; i < tables->clock.count; i++)
        points[i].time = to_ns(clock, points[i].time);
    hs_snapshot_records__convert(&tables->snapshots, clock);
    struct hs_culled *culled = tables->culled.data;
    for (size_t i = 0; i < tables->culled.count; i++) {
        culled[i].lifetime_ns = to_ns(clock, culled[i].lifetime_ns);
        culled[i].stack = hs_same_stacks__number(&tables->same, culled[i].stack);
        if (culled[i].stack >= tables->node_count)
            culled[i].stack = 0;
    }
}

static int compare_side(const void *left, const void *right)
{
    const struct hs_stored_side_event *a = left, *b = right;
    return (a->time > b->time) - (a->time < b->time);
}

static int compare_threads(const void *left, const void *right)
{
    const struct hs_stored_thread *a = left, *b = right;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static int compare_modules(const void *left, const void *right)
{
    const struct hs_stored_module *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->load_time > b->load_time) - (a->load_time < b->load_time);
}

static int compare_functions(const void *left, const void *right)
{
    const struct hs_stored_function *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

// Nodes come nearly in the order of their numbers: few runs have the same time.
static int write_node_times(struct hs_import_tables *tables, int directory_fd)
{
    struct hs_array runs = {0};
    const uint32_t *epoch = tables->node_epochs.data;
    int failed = 0;
    for (uint32_t i = 0; i < tables->node_count && !failed; i++) {
        if (i && epoch[i] == epoch[i - 1])
            continue;
        struct hs_stored_node_time *run = hs_array__add(&runs, sizeof *run);
        if (run)
            *run = (struct hs_stored_node_time){((const uint64_t *)tables->epochs.data)[epoch[i]], i, 0};
        else
            failed = -ENOMEM;
    }
    if (!failed)
        failed = hs_write_array(directory_fd, "node_times", &runs, sizeof(struct hs_stored_node_time));
    free(runs.data);
    return failed;
}

int hs_import_tables__write(struct hs_import_tables *tables, int directory_fd, const struct hs_array *side)
{
    for (size_t i = 0; i < side->count; i++) {
        struct hs_stored_side_event *added = hs_array__add(&tables->side, sizeof *added);
        if (!added)
            return -ENOMEM;
        *added = ((const struct hs_stored_side_event *)side->data)[i];
    }
    if (tables->side.count)
        qsort(tables->side.data, tables->side.count, sizeof(struct hs_stored_side_event), compare_side);
    if (tables->threads.count)
        qsort(tables->threads.data, tables->threads.count, sizeof(struct hs_stored_thread), compare_threads);
    if (tables->modules.count)
        qsort(tables->modules.data, tables->modules.count, sizeof(struct hs_stored_module), compare_modules);
    if (tables->functions.count)
        qsort(tables->functions.data, tables->functions.count, sizeof(struct hs_stored_function), compare_functions);
    const struct {
        const char *name;
        const struct hs_array *array;
        size_t element;
    } files[] = {
        {"strings", &tables->strings, 1},
        {"modules", &tables->modules, sizeof(struct hs_stored_module)},
        {"threads", &tables->threads, sizeof(struct hs_stored_thread)},
        {"clock", &tables->clock, sizeof(struct hs_clock_point)},
        {"side", &tables->side, sizeof(struct hs_stored_side_event)},
        {"info", &tables->info, sizeof(struct hs_stored_info)},
        {"culled", &tables->culled, sizeof(struct hs_culled)},
        {"embedded", &tables->embedded, sizeof(struct hs_stored_embedded)},
        {"functions", &tables->functions, sizeof(struct hs_stored_function)},
    };
    int failed = write_node_times(tables, directory_fd);
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = hs_write_array(directory_fd, files[i].name, files[i].array, files[i].element);
    int result = hs_column_file__finish(&tables->nodes, tables->node_count);
    return failed ? failed : result;
}
