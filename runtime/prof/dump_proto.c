// SPDX-License-Identifier: MIT OR Apache-2.0
//
// profile.proto, as google/pprof reads it. The parts of a message may come in any order, so all is written as it comes:
// strings and locations right before what first needs them. Values are estimates; addresses lie inside of calls.
#include "runtime/memory.h"
#include "runtime/prof/dump_addresses.h"
#include "runtime/prof/dump_facts.h"
#include "runtime/text.h"

#include <errno.h>

enum { // fields
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
};

enum { VARINT = 0, BYTES = 2, VARINT_LIMIT = 10, VALUES = 4 };

// A mapping that holds code.
struct code {
    uint64_t start, end;
    uint32_t id;
};

struct profile {
    struct hs_dump_output *output;
    struct hs_dump_facts *facts;
    uint32_t strings; // written so far
    uint32_t key_thread;
    struct hs_dump_addresses locations;
    struct code *codes; // by address
    uint32_t code_count;
    uint64_t code_memory;
    uint32_t *thread_names; // string of each thread of the snapshot
    uint8_t *locations_of;  // the packed location numbers of one stack
    uint64_t locations_length;
};

// A message that is built before it is written, since its length comes first.
struct dump_proto_message {
    uint8_t *at;
    uint8_t bytes[160];
};

// ---- the encoding ---------------------------------------------------------------------------------------------------

static uint8_t *encode(uint8_t *to, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *to++ = (uint8_t)(value | 128);
    *to++ = (uint8_t)value;
    return to;
}

static void begin(struct dump_proto_message *message)
{
    message->at = message->bytes;
}

static void put(struct dump_proto_message *message, unsigned field, uint64_t value)
{
    if (value)
        message->at = encode(encode(message->at, field << 3 | VARINT), value);
}

static void put_bytes(struct dump_proto_message *message, unsigned field, const uint8_t *bytes, uint64_t length)
{
    message->at = encode(encode(message->at, field << 3 | BYTES), length);
    __builtin_memcpy(message->at, bytes, (size_t)length);
    message->at += length;
}

static uint64_t length_of(const struct dump_proto_message *message)
{
    return (uint64_t)(message->at - message->bytes);
}

static void write_head(struct profile *profile, unsigned field, uint64_t length)
{
    uint8_t head[2 * VARINT_LIMIT];
    uint8_t *end = encode(encode(head, field << 3 | BYTES), length);
    hs_dump_output__bytes(profile->output, head, (uint64_t)(end - head));
}

static void write_number(struct profile *profile, unsigned field, uint64_t value)
{
    struct dump_proto_message message;
    begin(&message);
    put(&message, field, value);
    hs_dump_output__bytes(profile->output, message.bytes, length_of(&message));
}

static void write_message(struct profile *profile, unsigned field, const struct dump_proto_message *message)
{
    write_head(profile, field, length_of(message));
    hs_dump_output__bytes(profile->output, message->bytes, length_of(message));
}

static uint32_t write_string_part(struct profile *profile, const char *text, uint64_t length)
{
    write_head(profile, PROFILE_STRING, length);
    hs_dump_output__bytes(profile->output, text, length);
    return profile->strings++;
}

static uint32_t write_string(struct profile *profile, const char *text)
{
    return write_string_part(profile, text, hs_text__length(text));
}

// ---- what comes first -----------------------------------------------------------------------------------------------

static uint32_t write_type(struct profile *profile, unsigned field, const char *type, uint32_t unit)
{
    struct dump_proto_message message;
    uint32_t name = write_string(profile, type);
    begin(&message);
    put(&message, TYPE_TYPE, name);
    put(&message, TYPE_UNIT, unit);
    write_message(profile, field, &message);
    return name;
}

static void write_types(struct profile *profile, const struct hs_profile_snapshot *snapshot)
{
    uint32_t count = write_string(profile, "count"), bytes = write_string(profile, "bytes");
    write_type(profile, PROFILE_SAMPLE_TYPE, "alloc_objects", count);
    write_type(profile, PROFILE_SAMPLE_TYPE, "alloc_space", bytes);
    write_type(profile, PROFILE_SAMPLE_TYPE, "inuse_objects", count);
    uint32_t usual = write_type(profile, PROFILE_SAMPLE_TYPE, "inuse_space", bytes);
    write_type(profile, PROFILE_PERIOD_TYPE, "space", bytes);
    write_number(profile, PROFILE_PERIOD, snapshot->sample_bytes);
    write_number(profile, PROFILE_DEFAULT_TYPE, usual);
    write_number(profile, PROFILE_TIME, snapshot->real_ns);
    if (snapshot->real_ns > snapshot->since_ns)
        write_number(profile, PROFILE_DURATION, snapshot->real_ns - snapshot->since_ns);
}

static void write_comment(const char *text, void *data)
{
    struct profile *profile = data;
    uint32_t string = write_string(profile, text);
    write_number(profile, PROFILE_COMMENT, string);
}

// ---- mappings -------------------------------------------------------------------------------------------------------

static uint32_t write_build_id(struct profile *profile, const struct hs_image *image)
{
    char text[2 * HS_BUILD_ID_LIMIT];
    for (size_t i = 0; i < image->build_id_length; i++) {
        text[2 * i] = "0123456789abcdef"[image->build_id[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[image->build_id[i] & 15];
    }
    return write_string_part(profile, text, 2 * image->build_id_length);
}

static void write_mapping(struct profile *profile, const struct hs_maps_line *mapping, uint32_t id)
{
    const struct hs_dump_module *module = hs_dump_facts__module_of(profile->facts, mapping->start);
    uint32_t file = mapping->path_length ? write_string_part(profile, mapping->path, mapping->path_length) : 0;
    uint32_t build_id = module && module->image.build_id_length ? write_build_id(profile, &module->image) : 0;
    struct dump_proto_message message;
    begin(&message);
    put(&message, MAPPING_ID, id);
    put(&message, MAPPING_START, mapping->start);
    put(&message, MAPPING_LIMIT, mapping->end);
    put(&message, MAPPING_OFFSET, mapping->offset);
    put(&message, MAPPING_FILE, file);
    put(&message, MAPPING_BUILD_ID, build_id);
    write_message(profile, PROFILE_MAPPING, &message);
}

static bool is_program(const struct profile *profile, const struct hs_maps_line *mapping)
{
    const char *program = profile->facts->executable;
    return mapping->path_length && hs_text__length(program) == mapping->path_length &&
           __builtin_memcmp(program, mapping->path, mapping->path_length) == 0;
}

// Readers take the first mapping for the program.
static void write_mappings(struct profile *profile)
{
    struct hs_maps_line mapping;
    uint32_t limit = 0, id = 0;
    for (uint64_t at = 0; hs_dump_facts__next_mapping(profile->facts, &at, &mapping);)
        limit += mapping.executable;
    profile->code_memory = limit * sizeof *profile->codes;
    if (!limit || !(profile->codes = hs_memory__map((size_t)profile->code_memory)))
        return;
    for (int programs = 1; programs >= 0; programs--)
        for (uint64_t at = 0, n = 0; hs_dump_facts__next_mapping(profile->facts, &at, &mapping);) {
            if (!mapping.executable)
                continue;
            struct code *code = &profile->codes[n++];
            if (is_program(profile, &mapping) != programs)
                continue;
            *code = (struct code){mapping.start, mapping.end, ++id};
            write_mapping(profile, &mapping, id);
        }
    profile->code_count = limit;
}

static uint32_t mapping_of(const struct profile *profile, uint64_t address)
{
    uint32_t low = 0, high = profile->code_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (profile->codes[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < profile->code_count && profile->codes[low].start <= address;
    return inside ? profile->codes[low].id : 0;
}

// ---- samples --------------------------------------------------------------------------------------------------------

static uint32_t write_location(struct profile *profile, uint64_t address)
{
    bool is_new;
    uint32_t id = hs_dump_addresses__number(&profile->locations, address, &is_new);
    if (!is_new)
        return id;
    struct dump_proto_message message;
    begin(&message);
    put(&message, LOCATION_ID, id);
    put(&message, LOCATION_MAPPING, mapping_of(profile, address));
    put(&message, LOCATION_ADDRESS, address);
    write_message(profile, PROFILE_LOCATION, &message);
    return id;
}

static void write_locations_of(struct profile *profile, uint32_t stack)
{
    uint32_t count = hs_dump_facts__frames(profile->facts, stack);
    uint8_t *at = profile->locations_of;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = write_location(profile, hs_dump__address(profile->facts->frames[i], 0));
        at = id ? encode(at, id) : at;
    }
    profile->locations_length = (uint64_t)(at - profile->locations_of);
}

static uint32_t string_of_thread(struct profile *profile, const struct hs_profile_snapshot *snapshot, uint32_t uid)
{
    uint32_t low = 0, high = snapshot->thread_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (snapshot->threads[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == snapshot->thread_count || snapshot->threads[low].uid != uid)
        return 0;
    const char *name = snapshot->threads[low].name;
    char numbered[16];
    if (!name[0]) {
        struct hs_text text;
        hs_text__start(&text, numbered, sizeof numbered);
        hs_text__add(&text, "t");
        hs_text__add_number(&text, uid);
        name = numbered;
    }
    if (!profile->thread_names[low])
        profile->thread_names[low] = write_string(profile, name);
    return profile->thread_names[low];
}

static uint64_t objects_of(const struct hs_counts *counts)
{
    return (counts->estimated_objects_q16 + 32768) >> 16;
}

static void put_values(struct dump_proto_message *sample, const struct hs_pair *pair)
{
    uint8_t values[VALUES * VARINT_LIMIT];
    uint8_t *at = values;
    bool with_total = hs_prof_options.accum;
    at = encode(at, with_total ? objects_of(&pair->total) : 0);
    at = encode(at, with_total ? pair->total.estimated_bytes : 0);
    at = encode(at, objects_of(&pair->live));
    at = encode(at, pair->live.estimated_bytes);
    put_bytes(sample, SAMPLE_VALUE, values, (uint64_t)(at - values));
}

static void write_sample(struct profile *profile, const struct hs_profile_snapshot *snapshot,
                         const struct hs_pair *pair)
{
    struct dump_proto_message label, sample;
    uint32_t thread = string_of_thread(profile, snapshot, pair->thread);
    uint8_t head[2 * VARINT_LIMIT];
    uint8_t *head_end = encode(encode(head, SAMPLE_LOCATION << 3 | BYTES), profile->locations_length);
    begin(&label);
    put(&label, LABEL_KEY, profile->key_thread);
    put(&label, LABEL_TEXT, thread);
    begin(&sample);
    put_values(&sample, pair);
    if (thread)
        put_bytes(&sample, SAMPLE_LABEL, label.bytes, length_of(&label));
    uint64_t head_length = (uint64_t)(head_end - head);
    write_head(profile, PROFILE_SAMPLE, head_length + profile->locations_length + length_of(&sample));
    hs_dump_output__bytes(profile->output, head, head_length);
    hs_dump_output__bytes(profile->output, profile->locations_of, profile->locations_length);
    hs_dump_output__bytes(profile->output, sample.bytes, length_of(&sample));
}

static void write_samples(struct profile *profile, const struct hs_profile_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->pair_count && !profile->output->error; i++) {
        if (!i || snapshot->pairs[i].stack != snapshot->pairs[i - 1].stack)
            write_locations_of(profile, snapshot->pairs[i].stack);
        write_sample(profile, snapshot, &snapshot->pairs[i]);
    }
}

// ---- all ------------------------------------------------------------------------------------------------------------

enum { LOCATIONS_MEMORY = HS_DUMP_FRAMES_LIMIT * 5 };

static uint64_t thread_memory(const struct hs_profile_snapshot *snapshot)
{
    return (snapshot->thread_count + 1) * sizeof(uint32_t);
}

static void free_profile(struct profile *profile, const struct hs_profile_snapshot *snapshot)
{
    hs_dump_addresses__free(&profile->locations);
    if (profile->locations_of)
        hs_memory__unmap(profile->locations_of, LOCATIONS_MEMORY);
    if (profile->thread_names)
        hs_memory__unmap(profile->thread_names, (size_t)thread_memory(snapshot));
    if (profile->codes)
        hs_memory__unmap(profile->codes, (size_t)profile->code_memory);
}

void hs_dump_write__proto(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    struct profile profile = {.output = output, .facts = output->facts};
    profile.locations_of = hs_memory__map(LOCATIONS_MEMORY);
    profile.thread_names = hs_memory__map((size_t)thread_memory(snapshot));
    if (profile.locations_of && profile.thread_names) {
        write_string(&profile, "");
        write_types(&profile, snapshot);
        hs_dump_facts__each_line(output->facts, snapshot, write_comment, &profile);
        write_mappings(&profile);
        profile.key_thread = write_string(&profile, "thread");
        write_samples(&profile, snapshot);
    } else {
        output->error = ENOMEM;
    }
    free_profile(&profile, snapshot);
}
