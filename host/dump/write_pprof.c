// SPDX-License-Identifier: MIT OR Apache-2.0
//
// profile.proto, compressed, with estimates for values.
#include "host/base/buffer.h"
#include "host/base/id_map.h"
#include "host/dump/value_types.h"
#include "host/dump/write.h"
#include "host/report/text.h"

#include <string.h>
#include <zlib.h>

// Functions that are left out with what they call.
static const char dropped[] = "(calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|aligned_alloc|valloc|"
                              "pvalloc|realloc|reallocarray|mallocx|rallocx|operator new(\\[\\])?(\\(.*\\))?)";

// Bytes that are compressed at once.
#define PART (64u << 10)

struct write_pprof_writing {
    FILE *out;
    const struct hs_dump *dump;
    z_stream stream;
    struct hs_buffer profile; // what of it is not compressed yet, without the strings
    struct hs_buffer scratch[2];
    struct hs_string_table strings;
    struct hs_id_map function_of; // by name and file
    uint8_t *used;                // by location
    bool failed;
};

// ---- compression ---------------------------------------------------------------------------------------------------

static void pack(struct write_pprof_writing *writing, struct hs_buffer *part, int flush)
{
    uint8_t bytes[PART];
    z_stream *stream = &writing->stream;
    const uint8_t *at = part->bytes;
    size_t left = part->count;
    do {
        uInt taken = left < 1u << 30 ? (uInt)left : 1u << 30;
        stream->next_in = (Bytef *)(uintptr_t)at;
        stream->avail_in = taken;
        at += taken;
        left -= taken;
        do {
            stream->next_out = bytes;
            stream->avail_out = sizeof(bytes);
            writing->failed |= deflate(stream, left ? Z_NO_FLUSH : flush) == Z_STREAM_ERROR;
            fwrite(bytes, 1, sizeof(bytes) - stream->avail_out, writing->out);
        } while (!stream->avail_out && !writing->failed);
    } while (left);
    writing->failed |= part->failed;
    part->count = 0;
}

static void end_message(struct write_pprof_writing *writing, uint32_t field, struct hs_buffer *message)
{
    hs_buffer__put_message(&writing->profile, field, message);
    if (writing->profile.count >= PART)
        pack(writing, &writing->profile, Z_NO_FLUSH);
}

// ---- parts ---------------------------------------------------------------------------------------------------------

static uint64_t string(struct write_pprof_writing *writing, const char *text)
{
    return hs_string_table__add(&writing->strings, text);
}

static void put_type(struct write_pprof_writing *writing, uint32_t field, const char *type, const char *unit)
{
    struct hs_buffer *message = &writing->scratch[0];
    hs_buffer__put_field(message, 1, string(writing, type));
    hs_buffer__put_field(message, 2, string(writing, unit));
    end_message(writing, field, message);
}

static void put_sample(struct write_pprof_writing *writing, const struct hs_dump_context *context)
{
    const struct hs_dump *dump = writing->dump;
    int64_t values[HS_DUMP_VALUES];
    struct hs_buffer *message = &writing->scratch[0];
    struct hs_buffer *packed = &writing->scratch[1];
    struct hs_dump_walk walk = hs_dump__walk(dump, context);
    uint32_t location;
    while (hs_dump_walk__next(&walk, &location)) {
        writing->used[location] = 1;
        hs_buffer__put_number(packed, location + 1);
    }
    hs_buffer__put_message(message, 1, packed);
    // Values that the dump does not have are left out.
    hs_dump__values(dump, &context->counts, values);
    for (unsigned i = hs_dump__first_value(dump); i < hs_dump__end_of_values(dump); i++)
        hs_buffer__put_number(packed, (uint64_t)values[i]);
    hs_buffer__put_message(message, 2, packed);
    end_message(writing, 2, message);
}

// Only what a location lies in. Readers look for names themselves where a mapping says that it has none.
static void put_mapping(struct write_pprof_writing *writing, uint32_t index, bool named)
{
    const struct hs_dump_mapping *mapping = &writing->dump->mapping[index];
    struct hs_buffer *message = &writing->scratch[0];
    char id[2 * 64 + 1] = "";
    for (uint32_t i = 0; i < mapping->build_id_length && i < 64; i++)
        snprintf(id + 2 * i, 3, "%02x", mapping->build_id[i]);
    hs_buffer__put_field(message, 1, index + 1);
    hs_buffer__put_field(message, 2, mapping->start);
    hs_buffer__put_field(message, 3, mapping->end);
    hs_buffer__put_field(message, 4, mapping->offset);
    hs_buffer__put_field(message, 5, string(writing, mapping->path));
    hs_buffer__put_field(message, 6, string(writing, id));
    for (uint32_t field = 7; named && field <= 10; field++)
        hs_buffer__put_field(message, field, 1);
    end_message(writing, 3, message);
}

static uint64_t function(struct write_pprof_writing *writing, const struct hs_dump_line *line)
{
    uint64_t name = string(writing, line->function);
    uint64_t file = string(writing, line->file ? line->file : "");
    uint32_t known = hs_id_map__find(&writing->function_of, name << 32 | file);
    if (known != UINT32_MAX)
        return known + 1;
    known = (uint32_t)writing->function_of.count;
    if (hs_id_map__set(&writing->function_of, name << 32 | file, known))
        writing->failed = true;
    struct hs_buffer *message = &writing->scratch[1];
    hs_buffer__put_field(message, 1, known + 1);
    hs_buffer__put_field(message, 2, name);
    hs_buffer__put_field(message, 3, name);
    hs_buffer__put_field(message, 4, file);
    end_message(writing, 5, message);
    return known + 1;
}

static void put_location(struct write_pprof_writing *writing, uint32_t index)
{
    const struct hs_dump_location *location = &writing->dump->location[index];
    struct hs_buffer *message = &writing->scratch[0];
    hs_buffer__put_field(message, 1, index + 1);
    hs_buffer__put_field(message, 2, location->mapping == HS_DUMP_NONE ? 0 : location->mapping + 1);
    hs_buffer__put_field(message, 3, location->has_address ? location->address : 0);
    for (uint32_t i = 0; i < location->line_count; i++) {
        const struct hs_dump_line *line = &writing->dump->line[location->first_line + i];
        if (!*line->function && !line->file)
            continue;
        uint64_t id = function(writing, line);
        struct hs_buffer *entry = &writing->scratch[1];
        hs_buffer__put_field(entry, 1, id);
        hs_buffer__put_field(entry, 2, line->line);
        hs_buffer__put_message(message, 4, entry);
    }
    end_message(writing, 4, message);
}

static void put_tables(struct write_pprof_writing *writing)
{
    enum { MAPPED = 1, NAMED = 2 };
    const struct hs_dump *dump = writing->dump;
    uint8_t *marks = calloc(dump->mapping_count + 1, 1);
    writing->failed |= !marks;
    for (uint32_t i = 0; i < dump->location_count; i++) {
        if (!writing->used[i])
            continue;
        put_location(writing, i);
        if (marks && dump->location[i].mapping != HS_DUMP_NONE)
            marks[dump->location[i].mapping] |= MAPPED | (dump->location[i].line_count ? NAMED : 0);
    }
    for (uint32_t i = 0; marks && i < dump->mapping_count; i++) {
        if (marks[i])
            put_mapping(writing, i, marks[i] & NAMED);
    }
    free(marks);
}

static void put_comments(struct write_pprof_writing *writing)
{
    char text[4096];
    for (size_t i = 0; i < writing->dump->fact_count; i++) {
        snprintf(text, sizeof(text), "%s: %s", writing->dump->fact[i].key, writing->dump->fact[i].value);
        hs_buffer__put_field(&writing->profile, 13, string(writing, text));
    }
}

static void put_types(struct write_pprof_writing *writing)
{
    const struct hs_value_type *value = hs_value_types[writing->dump->events].value;
    for (unsigned i = hs_dump__first_value(writing->dump); i < hs_dump__end_of_values(writing->dump); i++)
        put_type(writing, 1, value[i].type, value[i].unit);
}

static void put_profile(struct write_pprof_writing *writing)
{
    const struct hs_dump *dump = writing->dump;
    put_types(writing);
    for (size_t i = 0; i < dump->context_count; i++) {
        const struct hs_dump_counts *counts = &dump->context[i].counts;
        if (counts->live_blocks || counts->live_bytes || counts->all_blocks || counts->all_bytes)
            put_sample(writing, &dump->context[i]);
    }
    put_tables(writing);
    if (!hs_events__are_samples(dump->events))
        hs_buffer__put_field(&writing->profile, 7, string(writing, dropped));
    hs_buffer__put_field(&writing->profile, 9, dump->time_ns);
    hs_buffer__put_field(&writing->profile, 10, dump->duration_ns);
    put_type(writing, 11, hs_value_types[dump->events].period.type, hs_value_types[dump->events].period.unit);
    hs_buffer__put_field(&writing->profile, 12, dump->period);
    put_comments(writing);
    hs_buffer__put_field(&writing->profile, 14,
                         string(writing, dump->lacks_live ? "alloc_space" : hs_value_types[dump->events].shown_first));
}

static int write_packed(struct write_pprof_writing *writing)
{
    if (deflateInit2(&writing->stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    put_profile(writing);
    pack(writing, &writing->profile, Z_NO_FLUSH);
    pack(writing, &writing->strings.fields, Z_FINISH);
    deflateEnd(&writing->stream);
    return writing->failed ? -ENOMEM : 0;
}

int hs_dump_write__pprof(FILE *out, const struct hs_dump *dump)
{
    struct write_pprof_writing writing = {.out = out, .dump = dump};
    int result = hs_string_table__start(&writing.strings, 6);
    writing.used = calloc(dump->location_count + 1, 1);
    if (!result)
        result = writing.used ? write_packed(&writing) : -ENOMEM;
    hs_buffer__free(&writing.profile);
    hs_buffer__free(&writing.scratch[0]);
    hs_buffer__free(&writing.scratch[1]);
    free(writing.used);
    hs_string_table__free(&writing.strings);
    hs_id_map__free(&writing.function_of);
    return result;
}
