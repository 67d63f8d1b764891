// SPDX-License-Identifier: MIT OR Apache-2.0
//
// opentelemetry/proto/profiles/v1development. All tables of the dictionary begin with an element without values, which
// stands for none.
#include "host/base/buffer.h"
#include "host/base/id_map.h"
#include "host/dump/value_types.h"
#include "host/dump/write.h"

#include <string.h>

// Fields of ProfilesDictionary.
enum { MAPPING_TABLE = 1, LOCATION_TABLE, FUNCTION_TABLE, LINK_TABLE, STRING_TABLE, ATTRIBUTE_TABLE, STACK_TABLE };

struct write_otlp_writing {
    const struct hs_dump *dump;
    const struct hs_dump_source *source;
    struct hs_string_table strings;
    struct hs_buffer dictionary; // without the strings
    struct hs_buffer scratch[3];
    struct hs_id_map function_of; // by name and file
    uint32_t attribute_count;
    uint8_t *used; // by location
    bool failed;
};

// ---- the dictionary ------------------------------------------------------------------------------------------------

static void end_entry(struct write_otlp_writing *writing, uint32_t table, struct hs_buffer *message)
{
    hs_buffer__put_message(&writing->dictionary, table, message);
}

// AnyValue with a string.
static void put_text_value(struct write_otlp_writing *writing, struct hs_buffer *to, const char *text)
{
    struct hs_buffer *value = &writing->scratch[2];
    hs_buffer__put_bytes_field(value, 1, text, strlen(text));
    hs_buffer__put_message(to, 2, value);
}

// Returns the number of the attribute.
static uint32_t add_attribute(struct write_otlp_writing *writing, const char *name, const char *text)
{
    struct hs_buffer *message = &writing->scratch[1];
    hs_buffer__put_field(message, 1, hs_string_table__add(&writing->strings, name));
    put_text_value(writing, message, text);
    end_entry(writing, ATTRIBUTE_TABLE, message);
    return ++writing->attribute_count;
}

static void put_mappings(struct write_otlp_writing *writing)
{
    for (size_t i = 0; i < writing->dump->mapping_count; i++) {
        const struct hs_dump_mapping *mapping = &writing->dump->mapping[i];
        struct hs_buffer *message = &writing->scratch[0];
        char id[2 * 64 + 1] = "";
        for (uint32_t k = 0; k < mapping->build_id_length && k < 64; k++)
            snprintf(id + 2 * k, 3, "%02x", mapping->build_id[k]);
        hs_buffer__put_field(message, 1, mapping->start);
        hs_buffer__put_field(message, 2, mapping->end);
        hs_buffer__put_field(message, 3, mapping->offset);
        hs_buffer__put_field(message, 4, hs_string_table__add(&writing->strings, mapping->path));
        if (*id) {
            hs_buffer__put_number(&writing->scratch[2], add_attribute(writing, "process.executable.build_id.gnu", id));
            hs_buffer__put_message(message, 5, &writing->scratch[2]);
        }
        end_entry(writing, MAPPING_TABLE, message);
    }
}

static uint64_t function(struct write_otlp_writing *writing, const struct hs_dump_line *line)
{
    uint64_t name = hs_string_table__add(&writing->strings, line->function);
    uint64_t file = hs_string_table__add(&writing->strings, line->file ? line->file : "");
    uint32_t known = hs_id_map__find(&writing->function_of, name << 32 | file);
    if (known != UINT32_MAX)
        return known;
    known = (uint32_t)writing->function_of.count + 1;
    writing->failed |= hs_id_map__set(&writing->function_of, name << 32 | file, known) != 0;
    struct hs_buffer *message = &writing->scratch[1];
    hs_buffer__put_field(message, 1, name);
    hs_buffer__put_field(message, 2, name);
    hs_buffer__put_field(message, 3, file);
    end_entry(writing, FUNCTION_TABLE, message);
    return known;
}

static void put_locations(struct write_otlp_writing *writing)
{
    for (size_t i = 0; i < writing->dump->location_count; i++) {
        const struct hs_dump_location *location = &writing->dump->location[i];
        struct hs_buffer *message = &writing->scratch[0];
        hs_buffer__put_field(message, 1, location->mapping == HS_DUMP_NONE ? 0 : location->mapping + 1);
        hs_buffer__put_field(message, 2, location->has_address ? location->address : 0);
        for (uint32_t k = 0; writing->used[i] && k < location->line_count; k++) {
            const struct hs_dump_line *line = &writing->dump->line[location->first_line + k];
            if (!*line->function && !line->file)
                continue;
            uint64_t number = function(writing, line);
            struct hs_buffer *entry = &writing->scratch[1];
            hs_buffer__put_field(entry, 1, number);
            hs_buffer__put_field(entry, 2, line->line);
            hs_buffer__put_message(message, 3, entry);
        }
        end_entry(writing, LOCATION_TABLE, message);
    }
}

// A stack for each context.
static void put_stacks(struct write_otlp_writing *writing)
{
    for (size_t i = 0; i < writing->dump->context_count; i++) {
        struct hs_dump_walk walk = hs_dump__walk(writing->dump, &writing->dump->context[i]);
        struct hs_buffer *message = &writing->scratch[0], *packed = &writing->scratch[1];
        uint32_t location;
        while (hs_dump_walk__next(&walk, &location)) {
            writing->used[location] = 1;
            hs_buffer__put_number(packed, location + 1);
        }
        hs_buffer__put_message(message, 1, packed);
        end_entry(writing, STACK_TABLE, message);
    }
}

static void put_dictionary(struct write_otlp_writing *writing)
{
    for (uint32_t table = MAPPING_TABLE; table <= STACK_TABLE; table++)
        if (table != STRING_TABLE)
            hs_buffer__put_bytes_field(&writing->dictionary, table, "", 0);
    put_mappings(writing);
    put_stacks(writing);
    put_locations(writing);
}

// ---- profiles ------------------------------------------------------------------------------------------------------

static void put_type(struct write_otlp_writing *writing, struct hs_buffer *to, uint32_t field,
                     const struct hs_value_type *type)
{
    struct hs_buffer *message = &writing->scratch[0];
    hs_buffer__put_field(message, 1, hs_string_table__add(&writing->strings, type->type));
    hs_buffer__put_field(message, 2, hs_string_table__add(&writing->strings, type->unit));
    hs_buffer__put_message(to, field, message);
}

static void put_fixed_field(struct hs_buffer *to, uint32_t field, uint64_t value)
{
    hs_buffer__put_number(to, field << 3 | 1);
    hs_buffer__put_fixed(to, value, 8);
}

// What has none of this kind is left out.
static void put_samples(struct write_otlp_writing *writing, struct hs_buffer *profile, unsigned kind)
{
    int64_t values[HS_DUMP_VALUES];
    for (size_t i = 0; i < writing->dump->context_count; i++) {
        hs_dump__values(writing->dump, &writing->dump->context[i].counts, values);
        if (!values[kind])
            continue;
        struct hs_buffer *message = &writing->scratch[0], *packed = &writing->scratch[1];
        hs_buffer__put_field(message, 1, i + 1);
        hs_buffer__put_number(packed, (uint64_t)values[kind]);
        hs_buffer__put_message(message, 4, packed);
        hs_buffer__put_message(profile, 2, message);
    }
}

static void put_profile(struct write_otlp_writing *writing, struct hs_buffer *scope, unsigned kind)
{
    const struct hs_value_types *types = &hs_value_types[writing->dump->events];
    struct hs_buffer profile = {0};
    put_type(writing, &profile, 1, &types->value[kind]);
    put_samples(writing, &profile, kind);
    put_fixed_field(&profile, 3, writing->source->time_ns);
    hs_buffer__put_field(&profile, 4, writing->source->duration_ns);
    put_type(writing, &profile, 5, &types->period);
    hs_buffer__put_field(&profile, 6, writing->dump->period);
    hs_buffer__put_message(scope, 2, &profile);
    hs_buffer__free(&profile);
}

static void put_scope(struct write_otlp_writing *writing, struct hs_buffer *resource)
{
    static const char name[] = "heapsonde";
    struct hs_buffer scope = {0};
    struct hs_buffer *message = &writing->scratch[0];
    hs_buffer__put_bytes_field(message, 1, name, strlen(name));
    hs_buffer__put_message(&scope, 1, message);
    for (unsigned i = hs_dump__first_value(writing->dump); i < hs_dump__end_of_values(writing->dump); i++)
        put_profile(writing, &scope, i);
    hs_buffer__put_message(resource, 2, &scope);
    hs_buffer__free(&scope);
}

static void put_attributes(struct write_otlp_writing *writing, struct hs_buffer *resource)
{
    struct hs_buffer *whole = &writing->scratch[0], *pair = &writing->scratch[1];
    for (const char *const *at = writing->source->attributes; at[0]; at += 2) {
        hs_buffer__put_bytes_field(pair, 1, at[0], strlen(at[0]));
        put_text_value(writing, pair, at[1]);
        hs_buffer__put_message(whole, 1, pair);
    }
    hs_buffer__put_message(resource, 1, whole);
}

static void put_request(struct write_otlp_writing *writing, struct hs_buffer *to)
{
    struct hs_buffer resource = {0};
    put_dictionary(writing);
    put_attributes(writing, &resource);
    put_scope(writing, &resource);
    hs_buffer__put_message(to, 1, &resource);
    hs_buffer__put(&writing->dictionary, writing->strings.fields.bytes, writing->strings.fields.count);
    hs_buffer__put_message(to, 2, &writing->dictionary);
    hs_buffer__free(&resource);
}

int hs_dump__write_otlp(struct hs_buffer *to, const struct hs_dump *dump, const struct hs_dump_source *source)
{
    struct write_otlp_writing writing = {.dump = dump, .source = source, .used = calloc(dump->location_count + 1, 1)};
    int failed = hs_string_table__start(&writing.strings, STRING_TABLE);
    if (!failed && writing.used)
        put_request(&writing, to);
    writing.failed |= failed || !writing.used || to->failed || writing.strings.fields.failed;
    for (size_t i = 0; i < sizeof(writing.scratch) / sizeof(*writing.scratch); i++)
        hs_buffer__free(&writing.scratch[i]);
    hs_buffer__free(&writing.dictionary);
    hs_string_table__free(&writing.strings);
    hs_id_map__free(&writing.function_of);
    free(writing.used);
    return writing.failed ? -ENOMEM : 0;
}
