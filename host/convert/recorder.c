// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files of the recorder family (memory-profiler, bytehound): a stream of events of 28 kinds, without a length of their
// own, so that reading ends at the first unknown one. Backtraces are whole, or change what the thread had last. Files
// that were post-processed have names, others the program's files.
#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/base/memory.h"
#include "host/convert/convert.h"
#include "host/convert/recorder_stream.h"
#include "host/convert/stack_builder.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum tag {
    TAG_HEADER,
    TAG_ALLOC,
    TAG_REALLOC,
    TAG_FREE,
    TAG_FILE,
    TAG_BACKTRACE,
    TAG_MEMORY_DUMP,
    TAG_MARKER,
    TAG_MEMORY_MAP,
    TAG_MEMORY_UNMAP,
    TAG_MALLOPT,
    TAG_ENVIRON,
    TAG_WALL_CLOCK,
    TAG_PARTIAL_BACKTRACE,
    TAG_STRING,
    TAG_DECODED_FRAME,
    TAG_DECODED_BACKTRACE,
    TAG_GROUP_STATISTICS,
    TAG_PARTIAL_BACKTRACE_32,
    TAG_BACKTRACE_32,
    TAG_ALLOC_EX,
    TAG_REALLOC_EX,
    TAG_FREE_EX,
    TAG_FILE_64,
    TAG_ADD_REGION,
    TAG_REMOVE_REGION,
    TAG_UPDATE_REGION,
    TAG_MEMORY_MAP_EX
};

#define ALL_FRAMES   0xffffffffu
#define FRAMES_MAX   65536u
#define TEXT_MAX     65536u
#define CONTENTS_MAX (60u << 20)
#define TIMES_PACKED 32 // what is recorded stays below fifteen
#define TIMES_TAKEN  16 // bytes of memory for each plain byte, at most: a mark has 8

struct thread {
    uint64_t *frame; // of its last backtrace, outermost first
    size_t count, room;
    uint32_t *node; // of the first `nodes` frames
    size_t nodes, nodes_room;
};

struct decoded_frame {
    uint32_t library, function, source, line;
};

struct recorder_reading {
    const char *path;
    struct hs_trace_file file;
    struct hs_recorder_stream in;
    struct hs_stack_builder stacks;
    struct hs_id_map backtraces; // node by id
    struct hs_id_map streams;    // by thread
    struct thread *thread;       // by stream
    size_t threads, threads_room;
    uint32_t next_stream;
    struct hs_id_map string_of; // by id
    char **string;
    size_t strings, strings_room;
    struct decoded_frame *decoded;
    size_t decoded_count, decoded_room;
    uint32_t decoded_backtraces;
    char *maps; // the last one's text
    uint64_t start_us, last_us, ties, end_ns;
};

static uint64_t u64(struct recorder_reading *reading)
{
    return hs_recorder_stream__number(&reading->in, 8);
}

static uint32_t u32(struct recorder_reading *reading)
{
    return (uint32_t)hs_recorder_stream__number(&reading->in, 4);
}

static uint64_t varint(struct recorder_reading *reading)
{
    return hs_recorder_stream__varint(&reading->in);
}

static void skip(struct recorder_reading *reading, uint64_t length)
{
    hs_recorder_stream__take(&reading->in, NULL, length);
}

// A text of at most TEXT_MAX bytes, ended by a NUL; NULL: out of memory.
static char *take_text(struct recorder_reading *reading)
{
    uint32_t length = u32(reading);
    uint32_t kept = length < TEXT_MAX ? length : TEXT_MAX;
    char *text = calloc(1, (size_t)kept + 1);
    if (text && !hs_recorder_stream__take(&reading->in, text, kept))
        *text = '\0';
    skip(reading, length - kept);
    return text;
}

// Microseconds in the order of the file: events of one of them get a nanosecond each.
static uint64_t time_of(struct recorder_reading *reading, uint64_t us)
{
    reading->ties = us == reading->last_us && reading->ties < 999 ? reading->ties + 1
                    : us == reading->last_us                      ? 999
                                                                  : 0;
    reading->last_us = us;
    uint64_t past = us > reading->start_us ? us - reading->start_us : 0;
    uint64_t ns = past < UINT64_MAX / 4000 ? past * 1000 + reading->ties : reading->end_ns;
    if (ns > reading->end_ns)
        reading->end_ns = ns;
    return ns;
}

static int stream_of(struct recorder_reading *reading, uint32_t tid, uint32_t *stream)
{
    *stream = hs_id_map__find(&reading->streams, tid);
    if (*stream != UINT32_MAX)
        return 0;
    *stream = ++reading->next_stream;
    hs_trace_file__thread(&reading->file, *stream, tid, 0, "");
    while (reading->threads <= *stream) {
        if (!HS_ARRAY_HAS_ROOM(reading->thread, reading->threads, reading->threads_room))
            return -ENOMEM;
        reading->thread[reading->threads++] = (struct thread){0};
    }
    return hs_id_map__set(&reading->streams, tid, *stream);
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static uint32_t node_of(const struct recorder_reading *reading, uint64_t backtrace)
{
    uint32_t node = hs_id_map__find(&reading->backtraces, backtrace);
    return node == UINT32_MAX ? 0 : node;
}

// Takes addresses, innermost first, onto the inner end of a stack.
static int take_frames(struct recorder_reading *reading, struct thread *stack, unsigned bytes)
{
    uint32_t count = u32(reading);
    if (count > FRAMES_MAX || stack->count + count > FRAMES_MAX) {
        reading->in.ended = true;
        return 0;
    }
    if (stack->count + count > stack->room) {
        uint64_t *bigger = reallocarray(stack->frame, stack->count + count, sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        stack->frame = bigger;
        stack->room = stack->count + count;
    }
    for (uint32_t i = count; i-- > 0;)
        stack->frame[stack->count + i] = hs_recorder_stream__number(&reading->in, bytes);
    stack->count += count;
    return 0;
}

// Nodes of frames that a thread's last backtrace had, too, are not looked up again: that may be 65,536 for each event.
static int keep_backtrace(struct recorder_reading *reading, uint64_t id, struct thread *stack)
{
    if (stack->count > stack->nodes_room) {
        uint32_t *bigger = reallocarray(stack->node, stack->room, sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        stack->node = bigger;
        stack->nodes_room = stack->room;
    }
    for (size_t i = stack->nodes; i < stack->count; i++) {
        int result = hs_stack_builder__child(&reading->stacks, &reading->file, i ? stack->node[i - 1] : 0,
                                             stack->frame[i], &stack->node[i]);
        if (result)
            return result;
        stack->nodes = i + 1;
    }
    uint32_t node = stack->count ? stack->node[stack->count - 1] : 0;
    return reading->in.ended ? 0 : hs_id_map__set(&reading->backtraces, id, node);
}

static int read_backtrace(struct recorder_reading *reading, unsigned bytes)
{
    struct thread whole = {0};
    uint64_t id = u64(reading);
    int result = take_frames(reading, &whole, bytes);
    if (!result)
        result = keep_backtrace(reading, id, &whole);
    free(whole.frame);
    free(whole.node);
    return result;
}

static int read_partial(struct recorder_reading *reading, unsigned bytes)
{
    uint64_t id = u64(reading);
    uint32_t stream;
    int result = stream_of(reading, u32(reading), &stream);
    if (result)
        return result;
    struct thread *thread = &reading->thread[stream];
    uint32_t gone = u32(reading);
    thread->count = gone == ALL_FRAMES || gone > thread->count ? 0 : thread->count - gone;
    thread->nodes = thread->nodes < thread->count ? thread->nodes : thread->count;
    result = take_frames(reading, thread, bytes);
    return result ? result : keep_backtrace(reading, id, thread);
}

// ---- names ---------------------------------------------------------------------------------------------------------

static int read_string(struct recorder_reading *reading)
{
    uint32_t id = u32(reading);
    char *text = take_text(reading);
    if (!text)
        return -ENOMEM;
    if (hs_id_map__set(&reading->string_of, id, (uint32_t)reading->strings) ||
        !HS_ARRAY_HAS_ROOM(reading->string, reading->strings, reading->strings_room)) {
        free(text);
        return -ENOMEM;
    }
    reading->string[reading->strings++] = text;
    return 0;
}

static const char *string_of(const struct recorder_reading *reading, uint32_t id)
{
    uint32_t index = hs_id_map__find(&reading->string_of, id);
    return index < reading->strings ? reading->string[index] : "";
}

static int read_decoded_frame(struct recorder_reading *reading)
{
    struct decoded_frame frame = {0};
    u64(reading); // address
    frame.library = u32(reading);
    uint32_t raw = u32(reading);
    frame.function = u32(reading);
    if (frame.function == ALL_FRAMES)
        frame.function = raw;
    frame.source = u32(reading);
    frame.line = u32(reading);
    u32(reading);     // column
    skip(reading, 1); // whether it is inlined
    if (!HS_ARRAY_HAS_ROOM(reading->decoded, reading->decoded_count, reading->decoded_room))
        return -ENOMEM;
    reading->decoded[reading->decoded_count++] = frame;
    return 0;
}

static int read_decoded_backtrace(struct recorder_reading *reading)
{
    struct thread numbers = {0};
    uint32_t node = 0;
    int result = take_frames(reading, &numbers, 4);
    for (size_t i = 0; !result && i < numbers.count; i++) {
        uint32_t before = reading->stacks.count;
        if (numbers.frame[i] >= reading->decoded_count)
            continue;
        const struct decoded_frame *frame = &reading->decoded[numbers.frame[i]];
        // Inlined frames share their caller's address: the number of the frame stands for it.
        result = hs_stack_builder__child(&reading->stacks, &reading->file, node, numbers.frame[i], &node);
        if (!result && node > before)
            hs_trace_file__name(&reading->file, node, string_of(reading, frame->function),
                                string_of(reading, frame->source), frame->line == ALL_FRAMES ? 0 : frame->line,
                                string_of(reading, frame->library));
    }
    free(numbers.frame);
    return result ? result : hs_id_map__set(&reading->backtraces, reading->decoded_backtraces++, node);
}

// ---- files ---------------------------------------------------------------------------------------------------------

struct recorder_image {
    const uint8_t *bytes;
    size_t length;
    bool wide, big;
};

static uint64_t image_number(const struct recorder_image *image, uint64_t at, unsigned size)
{
    uint64_t number = 0;
    if (at > image->length || size > image->length - at)
        return 0;
    for (unsigned i = 0; i < size; i++)
        number |= (uint64_t)image->bytes[at + (image->big ? size - 1 - i : i)] << 8 * i;
    return number;
}

// How far the byte at `offset` of the file is linked from its place in the file.
static uint64_t link_distance(const struct recorder_image *image, uint64_t offset)
{
    unsigned word = image->wide ? 8 : 4;
    uint64_t table = image_number(image, image->wide ? 32 : 28, word);
    uint64_t size = image_number(image, image->wide ? 54 : 42, 2),
             count = image_number(image, image->wide ? 56 : 44, 2);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = table + i * size;
        uint64_t start = image_number(image, at + (image->wide ? 8 : 4), word);
        uint64_t address = image_number(image, at + (image->wide ? 16 : 8), word);
        uint64_t length = image_number(image, at + (image->wide ? 32 : 16), word);
        if (image_number(image, at, 4) == PT_LOAD && offset + 4096 > start && offset < start + length)
            return address - start;
    }
    return 0;
}

// A module for each executable mapping of the file.
static void add_modules(struct recorder_reading *reading, const char *path, const uint8_t *contents, size_t length)
{
    struct recorder_image image = {contents, length, false, false};
    bool is_image = length > 64 && !memcmp(contents, ELFMAG, SELFMAG);
    image.wide = is_image && contents[EI_CLASS] == ELFCLASS64;
    image.big = is_image && contents[EI_DATA] == ELFDATA2MSB;
    for (const char *line = reading->maps; line && *line;) {
        uint64_t start, end, offset;
        char permissions[5];
        int place = 0;
        size_t size = strcspn(line, "\n");
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %n", &start, &end, permissions, &offset,
                   &place) >= 4 &&
            place && (size_t)place < size && permissions[2] == 'x' && size - (size_t)place == strlen(path) &&
            !strncmp(line + place, path, strlen(path)))
            hs_trace_file__module(&reading->file, 0, start, end,
                                  start - offset - (is_image ? link_distance(&image, offset) : 0), path);
        line += size + (line[size] == '\n');
    }
}

static int keep_file(struct recorder_reading *reading, const char *path, uint64_t length)
{
    uint64_t kept = length <= CONTENTS_MAX ? length : 4096;
    char *contents = malloc(kept + 1);
    if (!contents)
        return -ENOMEM;
    bool whole = hs_recorder_stream__take(&reading->in, contents, kept);
    contents[whole ? kept : 0] = '\0';
    skip(reading, length - kept);
    if (whole && !strcmp(path, "/proc/self/maps")) {
        free(reading->maps);
        reading->maps = contents;
        return 0;
    }
    if (whole) {
        add_modules(reading, path, (uint8_t *)contents, kept);
        if (kept == length)
            hs_trace_file__embed(&reading->file, path, contents, kept);
    }
    free(contents);
    return 0;
}

static int read_file(struct recorder_reading *reading, bool wide)
{
    time_of(reading, u64(reading));
    char *path = take_text(reading);
    if (!path)
        return -ENOMEM;
    uint64_t length = wide ? u64(reading) : u32(reading);
    int result = keep_file(reading, path, length);
    free(path);
    return result;
}

// ---- events --------------------------------------------------------------------------------------------------------

static int write_event(struct recorder_reading *reading, uint32_t tid, struct hs_event *event)
{
    uint32_t stream;
    int result = reading->in.ended ? -ENODATA : stream_of(reading, tid, &stream);
    if (result)
        return result == -ENODATA ? 0 : result;
    hs_trace_file__event(&reading->file, stream, event);
    return reading->file.failed;
}

static int read_allocation(struct recorder_reading *reading, bool is_realloc)
{
    struct hs_event event = {.kind = is_realloc ? HS_EVENT_REALLOC : HS_EVENT_MALLOC};
    event.time = time_of(reading, u64(reading));
    if (is_realloc) {
        event.old_address = u64(reading);
        event.begin_time = event.time;
    }
    event.address = u64(reading);
    event.size = u64(reading);
    event.stack = node_of(reading, u64(reading));
    uint32_t tid = u32(reading);
    u32(reading); // flags
    event.usable = event.size + u32(reading);
    u64(reading); // what lies free in front of it
    return write_event(reading, tid, &event);
}

static int read_free(struct recorder_reading *reading)
{
    struct hs_event event = {.kind = HS_EVENT_FREE};
    event.time = time_of(reading, u64(reading));
    event.address = u64(reading);
    event.stack = node_of(reading, u64(reading));
    return write_event(reading, u32(reading), &event);
}

static int read_map(struct recorder_reading *reading)
{
    struct hs_event event = {.kind = HS_EVENT_MMAP};
    event.time = time_of(reading, u64(reading));
    event.address = u64(reading);
    event.size = u64(reading);
    event.stack = node_of(reading, u64(reading));
    event.asked = u64(reading);
    event.protection = u32(reading);
    event.map_flags = u32(reading);
    event.fd = (int32_t)u32(reading);
    uint32_t tid = u32(reading);
    event.offset = u64(reading);
    return write_event(reading, tid, &event);
}

static int read_unmap(struct recorder_reading *reading)
{
    struct hs_event event = {.kind = HS_EVENT_MUNMAP};
    event.time = time_of(reading, u64(reading));
    event.address = u64(reading);
    event.size = u64(reading);
    event.stack = node_of(reading, u64(reading));
    return write_event(reading, u32(reading), &event);
}

static int read_mallopt(struct recorder_reading *reading)
{
    struct hs_event event = {.kind = HS_EVENT_MALLOPT};
    event.time = time_of(reading, u64(reading));
    event.stack = node_of(reading, u64(reading));
    uint32_t tid = u32(reading);
    event.parameter = (int32_t)u32(reading);
    event.argument = (int32_t)u32(reading);
    event.result = (int32_t)u32(reading);
    return write_event(reading, tid, &event);
}

static int read_statistics(struct recorder_reading *reading)
{
    uint32_t node = node_of(reading, u64(reading));
    skip(reading, 16); // when the first and the last were allocated
    uint64_t count = u64(reading), size = u64(reading);
    skip(reading, 16);
    if (count && !reading->in.ended)
        hs_trace_file__culled(&reading->file, node, count, size, size, 0);
    return reading->file.failed;
}

static int skip_removal(struct recorder_reading *reading)
{
    u64(reading);
    varint(reading);
    u64(reading);
    varint(reading);
    for (uint64_t left = varint(reading); left && !reading->in.ended; left--) {
        u64(reading);
        varint(reading);
        u64(reading);
        varint(reading);
        u32(reading);
    }
    return 0;
}

static int skip_region(struct recorder_reading *reading)
{
    u64(reading);
    varint(reading);
    u64(reading);
    for (int i = 0; i < 3; i++)
        varint(reading); // length, offset, inode
    skip(reading, 12);
    skip(reading, varint(reading));
    return 0;
}

static int skip_usage(struct recorder_reading *reading)
{
    u64(reading);
    varint(reading);
    u64(reading);
    for (int i = 0; i < 7; i++)
        varint(reading);
    return 0;
}

static int skip_new_map(struct recorder_reading *reading)
{
    varint(reading);
    u64(reading);
    varint(reading);
    varint(reading);
    skip(reading, 12);
    varint(reading);
    u64(reading);
    varint(reading);
    u32(reading);
    return 0;
}

static int read_event(struct recorder_reading *reading, uint32_t tag)
{
    switch (tag) {
    case TAG_ALLOC_EX:
    case TAG_REALLOC_EX:
        skip(reading, 16);
        return read_allocation(reading, tag == TAG_REALLOC_EX);
    case TAG_ALLOC:
    case TAG_REALLOC:
        return read_allocation(reading, tag == TAG_REALLOC);
    case TAG_FREE_EX:
        skip(reading, 16);
        return read_free(reading);
    case TAG_FREE:
        return read_free(reading);
    case TAG_FILE:
    case TAG_FILE_64:
        return read_file(reading, tag == TAG_FILE_64);
    case TAG_BACKTRACE:
    case TAG_BACKTRACE_32:
        return read_backtrace(reading, tag == TAG_BACKTRACE ? 8 : 4);
    case TAG_PARTIAL_BACKTRACE:
    case TAG_PARTIAL_BACKTRACE_32:
        return read_partial(reading, tag == TAG_PARTIAL_BACKTRACE ? 8 : 4);
    case TAG_MEMORY_DUMP:
        skip(reading, 16);
        skip(reading, u32(reading));
        return 0;
    case TAG_MARKER:
        hs_trace_file__mark(&reading->file, reading->end_ns, u32(reading));
        return 0;
    case TAG_MEMORY_MAP:
        return read_map(reading);
    case TAG_MEMORY_UNMAP:
        return read_unmap(reading);
    case TAG_MALLOPT:
        return read_mallopt(reading);
    case TAG_ENVIRON:
        skip(reading, u32(reading));
        return 0;
    case TAG_WALL_CLOCK:
        skip(reading, 24);
        return 0;
    case TAG_STRING:
        return read_string(reading);
    case TAG_DECODED_FRAME:
        return read_decoded_frame(reading);
    case TAG_DECODED_BACKTRACE:
        return read_decoded_backtrace(reading);
    case TAG_GROUP_STATISTICS:
        return read_statistics(reading);
    case TAG_ADD_REGION:
        return skip_region(reading);
    case TAG_REMOVE_REGION:
        return skip_removal(reading);
    case TAG_UPDATE_REGION:
        return skip_usage(reading);
    case TAG_MEMORY_MAP_EX:
        return skip_new_map(reading);
    default:
        reading->in.ended = reading->in.cut = true;
        return 0;
    }
}

// ---- the file ------------------------------------------------------------------------------------------------------

static uint16_t machine_of(const char *arch)
{
    static const struct {
        const char *name;
        uint16_t machine;
    } machines[] = {{"x86_64", EM_X86_64},   {"amd64", EM_X86_64}, {"arm", EM_ARM},
                    {"aarch64", EM_AARCH64}, {"mips64", EM_MIPS},  {"mips", EM_MIPS}};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (!strcmp(arch, machines[i].name))
            return machines[i].machine;
    }
    return EM_X86_64;
}

// The command line has NULs between its words.
static char *take_command(struct recorder_reading *reading)
{
    uint32_t length = u32(reading);
    uint32_t kept = length < TEXT_MAX ? length : TEXT_MAX;
    char *text = calloc(1, (size_t)kept + 1);
    if (text && !hs_recorder_stream__take(&reading->in, text, kept))
        kept = 0;
    for (uint32_t i = 0; text && i + 1 < kept; i++)
        text[i] = text[i] ? text[i] : ' ';
    skip(reading, length - kept);
    return text;
}

static int read_header(struct recorder_reading *reading, FILE *out)
{
    struct hs_file_header header = {.clock_source = HS_CLOCK_MONOTONIC};
    header.trace_id[0] = u64(reading);
    header.trace_id[1] = u64(reading);
    reading->start_us = u64(reading);
    u64(reading);
    header.start_monotonic_ns = reading->start_us < UINT64_MAX / 1000 ? reading->start_us * 1000 : 0;
    header.start_realtime_ns = u64(reading) % 100000000000 * 1000000000;
    header.start_realtime_ns += u64(reading) % 1000000000;
    header.pid = u32(reading);
    char *command = take_command(reading), *executable = take_text(reading), *arch = take_text(reading);
    uint64_t flags = u64(reading);
    uint8_t pointer_size = (uint8_t)hs_recorder_stream__number(&reading->in, 1);
    header.byte_order = flags & 1 ? HS_BYTE_ORDER_LITTLE : HS_BYTE_ORDER_BIG;
    header.pointer_size = pointer_size == 4 ? 4 : 8;
    header.machine = machine_of(arch ? arch : "");
    int result = command && executable && arch ? hs_trace_file__start(&reading->file, out, &header) : -ENOMEM;
    if (!result) {
        hs_trace_file__info(&reading->file, "converted_from", "memory-profiler");
        hs_trace_file__info(&reading->file, "command", command);
        hs_trace_file__info(&reading->file, "executable", executable);
    }
    free(command);
    free(executable);
    free(arch);
    return result;
}

bool hs_convert__is_recorder(FILE *in)
{
    struct hs_recorder_stream stream;
    uint8_t header[5];
    bool frame = fread(header, 1, sizeof(header), in) == sizeof(header) && (header[0] == 1 || header[0] == 2);
    rewind(in);
    if (!frame || hs_recorder_stream__start(&stream, in, UINT64_MAX))
        return false;
    // A header and what its fields look like.
    bool is = hs_recorder_stream__number(&stream, 4) == TAG_HEADER && hs_recorder_stream__take(&stream, NULL, 52);
    uint64_t command = hs_recorder_stream__number(&stream, 4);
    is = is && command < TEXT_MAX && hs_recorder_stream__take(&stream, NULL, command);
    uint64_t executable = hs_recorder_stream__number(&stream, 4);
    is = is && executable < TEXT_MAX && hs_recorder_stream__take(&stream, NULL, executable);
    uint64_t arch = hs_recorder_stream__number(&stream, 4);
    is = is && arch && arch < 32 && hs_recorder_stream__take(&stream, NULL, arch + 8);
    uint64_t pointer_size = hs_recorder_stream__number(&stream, 1);
    is = is && !stream.ended && (pointer_size == 4 || pointer_size == 8);
    hs_recorder_stream__free(&stream);
    return is;
}

static void free_reading(struct recorder_reading *reading)
{
    hs_trace_file__free(&reading->file);
    hs_recorder_stream__free(&reading->in);
    hs_stack_builder__free(&reading->stacks);
    hs_id_map__free(&reading->backtraces);
    hs_id_map__free(&reading->streams);
    for (size_t i = 0; i < reading->threads; i++) {
        free(reading->thread[i].frame);
        free(reading->thread[i].node);
    }
    for (size_t i = 0; i < reading->strings; i++)
        free(reading->string[i]);
    free(reading->thread);
    free(reading->string);
    hs_id_map__free(&reading->string_of);
    free(reading->decoded);
    free(reading->maps);
}

static int refuse_packed(struct recorder_reading *reading, struct hs_error *error)
{
    uint64_t bytes = hs_recorder_stream__count_rest(&reading->in) * TIMES_TAKEN;
    free_reading(reading);
    return hs_error__set(error, EFBIG, "%s: it unpacks to far more than files of its size do; %s", reading->path,
                         hs_memory__advice(bytes).text);
}

int hs_convert__recorder(const char *path, FILE *in, FILE *out, struct hs_error *error)
{
    struct recorder_reading reading = {.path = path};
    struct stat status = {0};
    stat(path, &status);
    const uint64_t most = hs_memory__unpacked_text((uint64_t)status.st_size, TIMES_PACKED);
    int result = hs_recorder_stream__start(&reading.in, in, most);
    if (!result && u32(&reading) != TAG_HEADER)
        result = -EBADMSG;
    if (!result)
        result = read_header(&reading, out);
    bool within = true;
    while (!result && !reading.in.ended) {
        uint32_t tag = u32(&reading);
        within = !reading.in.ended;
        if (within)
            result = read_event(&reading, tag);
    }
    if (!result && reading.in.is_refused)
        return refuse_packed(&reading, error);
    if (within || reading.in.cut)
        hs_trace_file__incomplete(&reading.file, "the rest of the recording cannot be read");
    if (!result)
        result = hs_trace_file__finish(&reading.file, reading.end_ns);
    free_reading(&reading);
    return result ? hs_error__set(error, -result, "%s: %s", path,
                                  result == -EBADMSG ? "it does not begin with the header of a recording"
                                                     : hs_trace_file__problem(result))
                  : 0;
}
