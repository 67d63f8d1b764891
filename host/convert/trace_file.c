// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/trace_file.h"

#include "format/chunk.h"
#include "format/record_write.h"
#include "host/symbols/given_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX   (1u << 20)
#define META_BYTES    (64u << 10)
#define NAMES_BYTES   ((size_t)1 << 20) // of one embedded file with names
#define WORDS_MAX     (HS_SLOT_RECORDS_SIZE / 8)
#define ADDRESS_SHIFT 4
#define BYTES_MAX     ((uint64_t)INT64_MAX)

struct hs_stream_buffer {
    uint64_t *words; // WORDS_MAX; NULL: nothing came yet
    size_t count;
    uint64_t base, time;
};

static void fail(struct hs_trace_file *file, int error)
{
    if (!file->failed)
        file->failed = error;
}

static void put(struct hs_trace_file *file, const void *bytes, size_t length)
{
    if (fwrite(bytes, 1, length, file->out) != length)
        fail(file, errno ? -errno : -EIO);
}

int hs_trace_file__start(struct hs_trace_file *file, FILE *out, const struct hs_file_header *header)
{
    static const uint8_t zeros[HS_FILE_HEADER_SIZE];
    *file = (struct hs_trace_file){.out = out, .header = *header};
    struct hs_file_header *own = &file->header;
    memcpy(own->magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH);
    own->version_major = HS_FILE_VERSION_MAJOR;
    own->version_minor = HS_FILE_VERSION_MINOR;
    own->address_shift = ADDRESS_SHIFT;
    own->header_size = HS_FILE_HEADER_SIZE;
    own->live.events = 0;
    file->target = (struct hs_codec_target){own->byte_order, own->pointer_size, ADDRESS_SHIFT};
    file->meta_bytes = malloc(META_BYTES);
    file->scratch = aligned_alloc(64, HS_CODEC_SCRATCH_SIZE);
    file->output = malloc(HS_CODEC_MAX_OUTPUT);
    if (!file->meta_bytes || !file->scratch || !file->output)
        return file->failed = -ENOMEM;
    hs_meta_begin(&file->meta, file->meta_bytes, META_BYTES);
    put(file, zeros, sizeof(zeros));
    file->offset = sizeof(zeros);
    return file->failed;
}

void hs_trace_file__free(struct hs_trace_file *file)
{
    for (uint32_t i = 0; i < file->streams; i++)
        free(file->stream[i].words);
    free(file->stream);
    free(file->meta_bytes);
    free(file->scratch);
    free(file->output);
    hs_buffer__free(&file->footer);
    hs_buffer__free(&file->names);
    *file = (struct hs_trace_file){0};
}

// ---- chunks --------------------------------------------------------------------------------------------------------

static void write_chunk(struct hs_trace_file *file, struct hs_chunk_header *chunk, const void *payload)
{
    static const uint8_t zeros[HS_CHUNK_ALIGNMENT];
    uint8_t bytes[HS_CHUNK_HEADER_SIZE], entry[HS_FOOTER_ENTRY_SIZE];
    uint64_t size = hs_chunk_size(chunk->stored_length);
    hs_chunk_seal(chunk, payload, bytes);
    put(file, bytes, sizeof(bytes));
    put(file, payload, chunk->stored_length);
    put(file, zeros, size - sizeof(bytes) - chunk->stored_length);
    if (chunk->kind != HS_CHUNK_FOOTER) {
        hs_footer_entry_write(entry, file->offset, bytes);
        hs_buffer__put(&file->footer, entry, sizeof(entry));
    }
    file->offset += size;
}

void hs_trace_file__chunk(struct hs_trace_file *file, uint16_t kind, const void *payload, size_t length)
{
    if (length > HS_CHUNK_MAX_LENGTH)
        return;
    struct hs_chunk_header chunk = {.kind = kind,
                                    .stored_length = (uint32_t)length,
                                    .plain_length = (uint32_t)length,
                                    .sequence = ++file->sequence};
    write_chunk(file, &chunk, payload);
}

// ---- events --------------------------------------------------------------------------------------------------------

const char *hs_trace_file__problem(int failed)
{
    return failed == -ERANGE ? "its blocks have 8 EiB or more in all, which no process has: the file is damaged"
                             : strerror(-failed);
}

static void count_bytes(struct hs_trace_file *file, uint64_t size, uint64_t usable)
{
    uint64_t bytes = size > usable ? size : usable;
    if (bytes > BYTES_MAX - file->bytes)
        fail(file, -ERANGE);
    else
        file->bytes += bytes;
}

static void seal(struct hs_trace_file *file, uint32_t number)
{
    struct hs_stream_buffer *stream = &file->stream[number];
    struct hs_encoded encoded;
    if (!stream->count)
        return;
    hs_events_encode(&file->target, stream->words, stream->count, stream->base, file->scratch, file->output, &encoded);
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_EVENTS,
                                    .stored_length = encoded.length,
                                    .plain_length = encoded.length,
                                    .stream = number,
                                    .count = encoded.count,
                                    .sequence = ++file->sequence,
                                    .first_time = encoded.first_time,
                                    .last_time = encoded.last_time};
    write_chunk(file, &chunk, file->output);
    file->header.live.events += encoded.count;
    stream->count = 0;
}

// Thousands of threads share some buffers: the stream that got one longest ago gives it up.
static uint64_t *take_words(struct hs_trace_file *file, uint32_t number)
{
    uint32_t place = file->next_holder++ % HS_BUFFERS_MAX;
    uint32_t holder = file->holder[place];
    file->holder[place] = number + 1;
    if (!holder)
        return calloc(WORDS_MAX, sizeof(uint64_t));
    seal(file, holder - 1);
    uint64_t *words = file->stream[holder - 1].words;
    file->stream[holder - 1].words = NULL;
    return words;
}

static struct hs_stream_buffer *buffer_of(struct hs_trace_file *file, uint32_t number)
{
    if (number >= STREAMS_MAX) {
        fail(file, -EOVERFLOW);
        return NULL;
    }
    if (number >= file->streams) {
        uint32_t streams = 2 * number + 16;
        struct hs_stream_buffer *bigger = reallocarray(file->stream, streams, sizeof(*bigger));
        if (!bigger) {
            fail(file, -ENOMEM);
            return NULL;
        }
        memset(bigger + file->streams, 0, (streams - file->streams) * sizeof(*bigger));
        file->stream = bigger;
        file->streams = streams;
    }
    struct hs_stream_buffer *stream = &file->stream[number];
    if (!stream->words)
        stream->words = take_words(file, number);
    if (!stream->words)
        fail(file, -ENOMEM);
    return stream->words ? stream : NULL;
}

void hs_trace_file__event(struct hs_trace_file *file, uint32_t number, const struct hs_event *event)
{
    struct hs_stream_buffer *stream = buffer_of(file, number);
    if (!stream)
        return;
    if (stream->count + HS_RECORD_WORDS_MAX > WORDS_MAX)
        seal(file, number);
    if (!stream->count)
        stream->base = stream->time = event->kind == HS_EVENT_REALLOC ? event->begin_time : event->time;
    stream->count += hs_record__append(&file->target, event, &stream->time, stream->words + stream->count);
    if (event->time > file->last_time)
        file->last_time = event->time;
    if (event->kind <= HS_EVENT_REALLOC && event->kind != HS_EVENT_FREE)
        count_bytes(file, event->size, event->usable);
}

// ---- meta ----------------------------------------------------------------------------------------------------------

static bool seal_meta(struct hs_trace_file *file)
{
    size_t length = (size_t)(file->meta.at - file->meta_bytes);
    if (!length)
        return false;
    hs_trace_file__chunk(file, HS_CHUNK_META, file->meta_bytes, length);
    hs_meta_begin(&file->meta, file->meta_bytes, META_BYTES);
    return true;
}

// A record that does not fit goes into the next chunk; one that fits into none is left out.
#define META(call)                                                                                                     \
    do {                                                                                                               \
        if (!(call) && seal_meta(file))                                                                                \
            (void)!(call);                                                                                             \
    } while (0)

void hs_trace_file__node(struct hs_trace_file *file, uint32_t id, uint32_t parent, uint64_t pc)
{
    META(hs_meta_node(&file->meta, id, parent, pc));
}

void hs_trace_file__module(struct hs_trace_file *file, uint64_t time, uint64_t start, uint64_t end, uint64_t bias,
                           const char *path)
{
    META(hs_meta_module(&file->meta, time, start, end, bias, NULL, 0, path, strlen(path)));
}

void hs_trace_file__thread(struct hs_trace_file *file, uint32_t stream, uint32_t tid, uint64_t time, const char *name)
{
    META(hs_meta_thread(&file->meta, stream, tid, time, name, strlen(name)));
}

void hs_trace_file__info(struct hs_trace_file *file, const char *key, const char *value)
{
    META(hs_meta_info(&file->meta, key, strlen(key), value, strlen(value)));
}

void hs_trace_file__incomplete(struct hs_trace_file *file, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (length >= 0 && length < (int)sizeof(text))
        snprintf(text + length, sizeof(text) - (size_t)length, "; the part before that is used");
    hs_trace_file__info(file, "incomplete", text);
}

void hs_trace_file__culled(struct hs_trace_file *file, uint32_t stack, uint64_t count, uint64_t size, uint64_t usable,
                           uint64_t lifetime)
{
    count_bytes(file, size > count ? size : count, usable);
    META(hs_meta_culled(&file->meta, stack, count, size, usable, lifetime));
}

void hs_trace_file__mark(struct hs_trace_file *file, uint64_t time, uint64_t value)
{
    META(hs_meta_mark(&file->meta, time, 0, value, "", 0));
}

// ---- files ---------------------------------------------------------------------------------------------------------

void hs_trace_file__embed(struct hs_trace_file *file, const char *name, const void *contents, size_t length)
{
    struct hs_buffer payload = {0};
    if (length > HS_CHUNK_MAX_LENGTH - 4096 || strlen(name) > 4000)
        return;
    hs_buffer__put(&payload, name, strlen(name) + 1);
    hs_buffer__put(&payload, contents, length);
    if (payload.failed)
        fail(file, -ENOMEM);
    else
        hs_trace_file__chunk(file, HS_CHUNK_FILE, payload.bytes, payload.count);
    hs_buffer__free(&payload);
}

static void seal_names(struct hs_trace_file *file)
{
    char name[64];
    if (file->names.failed)
        fail(file, -ENOMEM);
    if (!file->names.count)
        return;
    snprintf(name, sizeof(name), HS_GIVEN_NAMES "%u", file->name_files++);
    hs_trace_file__embed(file, name, file->names.bytes, file->names.count);
    file->names.count = 0;
}

static void put_name(struct hs_trace_file *file, const char *text)
{
    size_t at = file->names.count + 1;
    hs_buffer__put(&file->names, "\t", 1);
    hs_buffer__put(&file->names, text, strlen(text));
    for (; !file->names.failed && at < file->names.count; at++) {
        if (file->names.bytes[at] < 0x20)
            file->names.bytes[at] = '?';
    }
}

void hs_trace_file__name(struct hs_trace_file *file, uint32_t node, const char *function, const char *source,
                         uint32_t line, const char *module)
{
    char numbers[32];
    // The frames of a node stay together.
    if (file->names.count > NAMES_BYTES && node != file->named_node)
        seal_names(file);
    file->named_node = node;
    snprintf(numbers, sizeof(numbers), "%u\t%u", node, line);
    hs_buffer__put(&file->names, numbers, strlen(numbers));
    put_name(file, function);
    put_name(file, source);
    put_name(file, module);
    hs_buffer__put(&file->names, "\n", 1);
}

// ---- the end -------------------------------------------------------------------------------------------------------

static void put_target(const struct hs_trace_file *file, uint8_t *to, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        to[file->target.byte_order == HS_BYTE_ORDER_BIG ? 7 - i : i] = (uint8_t)(value >> 8 * i);
}

static void write_header(struct hs_trace_file *file, uint64_t footer, uint64_t end_time)
{
    static uint8_t page[HS_FILE_HEADER_SIZE];
    memset(page, 0, sizeof(page));
    hs_file_header_seal(&file->header, page);
    uint8_t *live = page + offsetof(struct hs_file_header, live);
    uint64_t words[sizeof(file->header.live) / 8]; // what was dropped and cut stays
    memcpy(words, &file->header.live, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / 8; i++)
        put_target(file, live + 8 * i, words[i]);
    put_target(file, live + offsetof(struct hs_live, state), HS_STATE_CLOSED);
    put_target(file, live + offsetof(struct hs_live, footer_offset), footer);
    put_target(file, live + offsetof(struct hs_live, end_time), end_time);
    if (fseek(file->out, 0, SEEK_SET))
        fail(file, -errno);
    put(file, page, sizeof(page));
}

int hs_trace_file__finish(struct hs_trace_file *file, uint64_t end_time)
{
    for (uint32_t i = 0; i < file->streams; i++)
        seal(file, i);
    seal_meta(file);
    seal_names(file);
    uint64_t footer = file->offset;
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_FOOTER,
                                    .stored_length = (uint32_t)file->footer.count,
                                    .plain_length = (uint32_t)file->footer.count};
    bool fits = !file->footer.failed && file->footer.count <= HS_CHUNK_MAX_LENGTH;
    if (fits)
        write_chunk(file, &chunk, file->footer.count ? (const void *)file->footer.bytes : "");
    write_header(file, fits ? footer : 0, end_time > file->last_time ? end_time : file->last_time);
    if (fflush(file->out))
        fail(file, -errno);
    return file->failed;
}
