// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The output of heaptrack_interpret, file version 3: tables of strings, instruction pointers and trace nodes, then one
// line for each allocation and each free. All numbers are hexadecimal; tables count from 1, allocation kinds from 0.
#include "host/base/array.h"
#include "host/base/hash_index.h"
#include "host/base/id_map.h"
#include "host/export/export.h"
#include "host/query/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSIONS  "v 10400 3\n"
#define KINDS_MAX ((size_t)8 << 20) // pairs of size and stack that are remembered

// Kinds are found by size and stack; a forgotten kind is written again.
struct export_heaptrack_kind {
    uint64_t size;
    uint32_t trace;
    uint32_t index;
};

struct heaptrack_writing {
    FILE *out;
    const struct hs_columns *columns;
    struct hs_trace_symbols *symbols;
    size_t node_count;
    struct hs_id_map strings; // by address of the text
    uint32_t string_count;
    uint32_t *trace; // by node
    uint32_t trace_count;
    uint32_t unknown; // trace of rows without a stack
    struct export_heaptrack_kind *kind;
    size_t kinds, kind_room;
    struct hs_hash_index index; // kinds by size and trace
    uint32_t next_kind;
    uint64_t time_ms;
};

static void put_hex(FILE *out, char before, uint64_t value)
{
    char text[18];
    char *at = text + sizeof(text);
    do {
        *--at = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value);
    *--at = before;
    fwrite_unlocked(at, 1, (size_t)(text + sizeof(text) - at), out);
}

// ---- tables --------------------------------------------------------------------------------------------------------

// The texts of frames live as long as the session, so that an address is a text. A line ends where the text does.
static int string_of(struct heaptrack_writing *writing, const char *text, uint32_t *index)
{
    *index = 0;
    if (!text || !*text)
        return 0;
    uint32_t known = hs_id_map__find(&writing->strings, (uintptr_t)text);
    if (known != UINT32_MAX) {
        *index = known;
        return 0;
    }
    size_t length = strlen(text);
    putc_unlocked('s', writing->out);
    put_hex(writing->out, ' ', length);
    putc_unlocked(' ', writing->out);
    for (size_t i = 0; i < length; i++)
        putc_unlocked((unsigned char)text[i] < 0x20 ? '?' : text[i], writing->out);
    putc_unlocked('\n', writing->out);
    *index = ++writing->string_count;
    return hs_id_map__set(&writing->strings, (uintptr_t)text, *index);
}

struct heaptrack_texts {
    uint32_t function, file;
};

static int write_pointer(struct heaptrack_writing *writing, const struct hs_frames *frames)
{
    struct heaptrack_texts *texts = calloc(frames->count, sizeof(*texts));
    uint32_t module;
    int result = texts ? string_of(writing, frames->frame[frames->count - 1].module, &module) : -ENOMEM;
    for (uint32_t i = 0; !result && i < frames->count; i++) {
        result = string_of(writing, frames->frame[i].function, &texts[i].function);
        if (!result)
            result = string_of(writing, frames->frame[i].file, &texts[i].file);
    }
    if (!result) {
        putc_unlocked('i', writing->out);
        put_hex(writing->out, ' ', frames->frame[frames->count - 1].address);
        put_hex(writing->out, ' ', module);
    }
    for (uint32_t i = 0; !result && i < frames->count; i++) {
        put_hex(writing->out, ' ', texts[i].function);
        // The file may be left out of the last frame only.
        if (texts[i].file || i + 1 < frames->count) {
            put_hex(writing->out, ' ', texts[i].file);
            put_hex(writing->out, ' ', frames->frame[i].line);
        }
    }
    putc_unlocked('\n', writing->out);
    free(texts);
    return result;
}

// The pointers have the numbers of the trace nodes.
static int write_node(struct heaptrack_writing *writing, const struct hs_frames *frames, uint32_t parent,
                      uint32_t *trace)
{
    int result = write_pointer(writing, frames);
    *trace = ++writing->trace_count;
    putc_unlocked('t', writing->out);
    put_hex(writing->out, ' ', *trace);
    put_hex(writing->out, ' ', parent);
    putc_unlocked('\n', writing->out);
    return result;
}

static void mark_nodes(struct heaptrack_writing *writing, const struct hs_subject *subject)
{
    for (size_t i = 0; i < subject->totals.count; i++) {
        uint32_t node = subject->totals.total[i].stack;
        for (; node && node < writing->node_count && !writing->trace[node];
             node = hs_trace_symbols__parent(writing->symbols, node))
            writing->trace[node] = 1;
    }
}

// Callers have smaller numbers than what they call.
static int write_nodes(struct heaptrack_writing *writing)
{
    static const struct hs_frame no_stack = {.function = "[no stack]", .module = ""};
    static const struct hs_frames unknown = {&no_stack, 1};
    int result = write_node(writing, &unknown, 0, &writing->unknown);
    for (uint32_t node = 1; !result && node < writing->node_count; node++) {
        if (!writing->trace[node])
            continue;
        uint32_t parent = hs_trace_symbols__parent(writing->symbols, node);
        const struct hs_frames *frames = hs_trace_symbols__node(writing->symbols, node);
        result = write_node(writing, frames, parent ? writing->trace[parent] : 0, &writing->trace[node]);
    }
    return result;
}

// ---- kinds of allocations ------------------------------------------------------------------------------------------

struct heaptrack_kind_key {
    const struct export_heaptrack_kind *kind;
    uint64_t size;
    uint32_t trace;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct heaptrack_kind_key *wanted = key;
    return wanted->kind[number].size == wanted->size && wanted->kind[number].trace == wanted->trace;
}

static void write_kind(struct heaptrack_writing *writing, uint64_t size, uint32_t trace)
{
    putc_unlocked('a', writing->out);
    put_hex(writing->out, ' ', size);
    put_hex(writing->out, ' ', trace);
    putc_unlocked('\n', writing->out);
    writing->next_kind++;
}

static int kind_of(struct heaptrack_writing *writing, uint64_t size, uint32_t trace, uint32_t *index)
{
    if (writing->kinds == KINDS_MAX) {
        hs_hash_index__clear(&writing->index);
        writing->kinds = 0;
    }
    const struct heaptrack_kind_key wanted = {writing->kind, size, trace};
    const uint64_t hash = hs_hash__pair(size, trace);
    uint32_t number = hs_hash_index__find(&writing->index, hash, is_wanted, &wanted);
    if (number == HS_HASH_NONE) {
        number = (uint32_t)writing->kinds;
        if (!HS_ARRAY_HAS_ROOM(writing->kind, writing->kinds, writing->kind_room) ||
            hs_hash_index__add(&writing->index, hash, number))
            return -ENOMEM;
        writing->kind[writing->kinds++] = (struct export_heaptrack_kind){size, trace, writing->next_kind};
        write_kind(writing, size, trace);
    }
    *index = writing->kind[number].index;
    return 0;
}

// ---- events --------------------------------------------------------------------------------------------------------

static void write_time(struct heaptrack_writing *writing, uint64_t ns)
{
    if (ns / 1000000 == writing->time_ms)
        return;
    writing->time_ms = ns / 1000000;
    putc_unlocked('c', writing->out);
    put_hex(writing->out, ' ', writing->time_ms);
    putc_unlocked('\n', writing->out);
}

static int write_event(void *context, const struct hs_store *store, struct hs_row_event *event)
{
    struct heaptrack_writing *writing = context;
    (void)store;
    int result = 0;
    write_time(writing, event->time);
    if (!event->is_free) {
        uint32_t stack = hs_row__stack(writing->columns, event->row);
        uint32_t trace = stack && stack < writing->node_count ? writing->trace[stack] : 0;
        result =
            kind_of(writing, hs_row__size(writing->columns, event->row), trace ? trace : writing->unknown, &event->tag);
    }
    putc_unlocked(event->is_free ? '-' : '+', writing->out);
    put_hex(writing->out, ' ', event->tag);
    putc_unlocked('\n', writing->out);
    return result;
}

static void write_head(FILE *out, const struct hs_subject *subject)
{
    char command[4096];
    hs_command_line(subject->store, command, sizeof(command));
    fputs(VERSIONS, out);
    fprintf(out, "X %s\nI 1000 0\n", *command ? command : hs_program_name(subject->store));
}

int hs_export__heaptrack(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct heaptrack_writing writing = {
        .out = out, .columns = hs_store__columns(subject->store), .symbols = subject->symbols};
    hs_store__nodes(subject->store, &writing.node_count);
    writing.trace = calloc(writing.node_count + 1, sizeof(*writing.trace));
    int result = writing.trace ? 0 : -ENOMEM;
    write_head(out, subject);
    if (!result) {
        mark_nodes(&writing, subject);
        result = write_nodes(&writing);
    }
    // The reader takes the free of kind 0 for that of a temporary block after any other free: nothing has that kind.
    write_kind(&writing, 0, writing.unknown);
    if (!result)
        result = hs_query__events(subject->store, subject->filter, options->control, write_event, &writing, NULL);
    write_time(&writing, hs_store__summary(subject->store)->end_time);
    hs_id_map__free(&writing.strings);
    free(writing.trace);
    free(writing.kind);
    hs_hash_index__free(&writing.index);
    return result;
}
