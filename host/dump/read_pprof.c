// SPDX-License-Identifier: MIT OR Apache-2.0
//
// profile.proto of pprof, unpacked. Its parts may stand in any order: the first pass collects the tables, the second
// one the samples. Its values are estimates already.
#include "host/dump/protobuf.h"
#include "host/dump/text.h"

#include "host/symbols/demangle.h"

#include <stdlib.h>

#define MOST_VALUES 64

enum { // fields of Profile
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13
};

// Two bytes of a file can be one: entries are small, and what nothing names is not kept.
struct read_pprof_text {
    const char *at;
    uint32_t length;
    bool is_kept; // `at` is the copy, which ends with a NUL
};

struct function {
    const char *name, *file;
};

struct read_pprof_reading {
    struct hs_dump_builder *builder;
    struct read_pprof_text *strings;
    struct function *functions;
    size_t string_count, string_room, function_count, function_room;
    struct hs_id_map function_of, mapping_of, location_of;
    unsigned types;                       // of values
    uint64_t *dump_of_value[MOST_VALUES]; // where a value goes in `counts`; NULL: nowhere
    uint64_t unit_of_value[MOST_VALUES];  // what one of it is
    struct hs_dump_counts counts;         // of the current sample
    uint64_t damaged;
};

// Makes room for one more element. False: out of memory, or more elements than there are numbers for.
static bool has_room(void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t wanted = *room ? *room * 2 : 256;
    void *bigger = wanted < UINT32_MAX ? reallocarray(*array, wanted, size) : NULL;
    if (bigger) {
        *array = bigger;
        *room = wanted;
    }
    return bigger != NULL;
}

// "" for a string that is not there.
static const char *string(struct read_pprof_reading *reading, uint64_t index)
{
    if (index >= reading->string_count)
        return "";
    struct read_pprof_text *text = &reading->strings[index];
    if (!text->is_kept) {
        const char *kept = hs_dump_builder__string(reading->builder, text->at, strnlen(text->at, text->length));
        if (!kept)
            return "";
        *text = (struct read_pprof_text){.at = kept, .is_kept = true};
    }
    return text->at;
}

// ---- tables --------------------------------------------------------------------------------------------------------

static uint64_t number_in(struct hs_proto message, uint32_t wanted)
{
    struct hs_field field;
    uint64_t value = 0;
    while (hs_proto__field(&message, &field)) {
        if (field.number == wanted && field.wire == HS_WIRE_NUMBER)
            value = field.value;
    }
    return value;
}

// The bytes of a unit as pprof reads it: "bytes", "kilobyte", "MB", ...; of any other 1.
static uint64_t bytes_in(const char *unit)
{
    static const char prefixes[] = "kmgtp";
    static const char *const words[] = {"kilo", "mega", "giga", "tera", "peta"};
    size_t length = strlen(unit);
    length -= length > 1 && (unit[length - 1] | 0x20) == 's';
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        uint64_t bytes = (uint64_t)1 << 10 * (i + 1);
        size_t word = !strncasecmp(unit, words[i], 4) ? 4 : (*unit | 0x20) == prefixes[i];
        const char *rest = unit + word;
        size_t rest_length = length > word ? length - word : 0;
        if (word &&
            ((rest_length == 1 && (*rest | 0x20) == 'b') || (rest_length == 4 && !strncasecmp(rest, "byte", 4))))
            return bytes;
    }
    return 1;
}

static void read_type(struct read_pprof_reading *reading, struct hs_proto message)
{
    struct hs_dump_counts *counts = &reading->counts;
    const struct {
        const char *name;
        uint64_t *to;
    } known[] = {{"inuse_space", &counts->live_bytes}, {"inuse_objects", &counts->live_blocks},
                 {"alloc_space", &counts->all_bytes},  {"alloc_objects", &counts->all_blocks},
                 {"space", &counts->live_bytes},       {"objects", &counts->live_blocks}};
    if (reading->types >= MOST_VALUES)
        return;
    const char *name = string(reading, number_in(message, 1));
    reading->unit_of_value[reading->types] = bytes_in(string(reading, number_in(message, 2)));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strcmp(name, known[i].name))
            reading->dump_of_value[reading->types] = known[i].to;
    }
    reading->types++;
}

static int read_mapping(struct read_pprof_reading *reading, struct hs_proto message)
{
    struct hs_dump_mapping mapping = {.executable = true, .path = ""};
    struct hs_field field;
    uint64_t id = 0;
    while (hs_proto__field(&message, &field)) {
        const char *text = field.number == 5 || field.number == 6 ? string(reading, field.value) : "";
        switch (field.number) {
        case 1:
            id = field.value;
            break;
        case 2:
            mapping.start = field.value;
            break;
        case 3:
            mapping.end = field.value;
            break;
        case 4:
            mapping.offset = field.value;
            break;
        case 5:
            mapping.path = text;
            break;
        case 6:
            mapping.build_id =
                hs_dump_builder__build_id(reading->builder, text, strlen(text), &mapping.build_id_length);
            break;
        default:
            break;
        }
    }
    if (hs_id_map__set(&reading->mapping_of, id, (uint32_t)reading->builder->dump->mapping_count))
        return -ENOMEM;
    return hs_dump_builder__add_mapping(reading->builder, &mapping);
}

static int read_function(struct read_pprof_reading *reading, struct hs_proto message)
{
    void *functions = reading->functions;
    if (!has_room(&functions, reading->function_count, &reading->function_room, sizeof(*reading->functions)) ||
        hs_id_map__set(&reading->function_of, number_in(message, 1), (uint32_t)reading->function_count)) {
        reading->functions = functions;
        return -ENOMEM;
    }
    reading->functions = functions;
    const char *name = string(reading, number_in(message, 2));
    const char *file = string(reading, number_in(message, 4));
    reading->functions[reading->function_count++] =
        (struct function){.name = *name ? name : string(reading, number_in(message, 3)), .file = *file ? file : NULL};
    return 0;
}

static int read_line(struct read_pprof_reading *reading, uint32_t location, struct hs_proto message)
{
    uint32_t function = hs_id_map__find(&reading->function_of, number_in(message, 1));
    struct hs_dump_line line = {.line = (uint32_t)number_in(message, 2), .function = ""};
    if (function != UINT32_MAX) {
        line.function = reading->functions[function].name;
        line.file = reading->functions[function].file;
    }
    return hs_dump_builder__add_line(reading->builder, location, &line);
}

static int read_location(struct read_pprof_reading *reading, struct hs_proto message)
{
    struct hs_dump_location location = {.mapping = hs_id_map__find(&reading->mapping_of, number_in(message, 2)),
                                        .address = number_in(message, 3)};
    location.has_address = location.address != 0;
    if (!location.has_address)
        location.mapping = HS_DUMP_NONE;
    uint32_t index = hs_dump_builder__add_location(reading->builder, &location);
    if (index == HS_DUMP_NONE || hs_id_map__set(&reading->location_of, number_in(message, 1), index))
        return -ENOMEM;
    struct hs_field field;
    int result = 0;
    while (!result && hs_proto__field(&message, &field)) {
        if (field.number == 4 && field.wire == HS_WIRE_BYTES)
            result = read_line(reading, index, field.bytes);
    }
    return result;
}

// ---- samples -------------------------------------------------------------------------------------------------------

static int add_location(struct read_pprof_reading *reading, uint64_t id)
{
    uint32_t location = hs_id_map__find(&reading->location_of, id);
    // A location that is not there still is a frame.
    if (location == UINT32_MAX) {
        reading->damaged++;
        location = hs_dump_builder__named(reading->builder, "[unknown]", 9);
    }
    return hs_dump_builder__add_frame(reading->builder, location);
}

static void add_value(struct read_pprof_reading *reading, unsigned index, uint64_t value)
{
    uint64_t *to = index < MOST_VALUES ? reading->dump_of_value[index] : NULL;
    if (to && (int64_t)value < 0)
        reading->builder->negative++;
    else if (to && __builtin_mul_overflow(value, reading->unit_of_value[index], to))
        *to = INT64_MAX;
}

// Numbers may be packed or not.
static int read_numbers(struct read_pprof_reading *reading, const struct hs_field *field, unsigned *values)
{
    struct hs_proto packed = field->bytes;
    uint64_t number = field->value;
    int result = 0;
    bool single = field->wire == HS_WIRE_NUMBER;
    while (!result && (single || hs_proto__number(&packed, &number))) {
        if (field->number == 1)
            result = add_location(reading, number);
        else
            add_value(reading, (*values)++, number);
        if (single)
            break;
    }
    return result;
}

// A label "thread", text or number.
static int read_label(struct read_pprof_reading *reading, struct hs_proto message, uint32_t *thread)
{
    if (strcmp(string(reading, number_in(message, 1)), "thread") != 0)
        return 0;
    const char *name = string(reading, number_in(message, 2));
    uint64_t uid = *name ? (uintptr_t)name : number_in(message, 3);
    *thread = hs_dump_builder__thread(reading->builder, uid);
    if (*thread == HS_DUMP_NONE)
        return -ENOMEM;
    reading->builder->dump->thread[*thread].name = name;
    return 0;
}

static int read_sample(struct read_pprof_reading *reading, struct hs_proto message)
{
    struct hs_dump *dump = reading->builder->dump;
    struct hs_field field;
    unsigned values = 0;
    uint32_t thread = HS_DUMP_NONE;
    int result = 0;
    reading->counts = (struct hs_dump_counts){0};
    while (!result && hs_proto__field(&message, &field)) {
        if (field.number == 1 || field.number == 2)
            result = read_numbers(reading, &field, &values);
        else if (field.number == 3)
            result = read_label(reading, field.bytes, &thread);
    }
    const struct hs_dump_counts *counts = &reading->counts;
    if (!result && !counts->live_blocks && !counts->live_bytes && !counts->all_blocks && !counts->all_bytes) {
        hs_dump_builder__drop_frames(reading->builder);
        return 0;
    }
    if (!result)
        result = hs_dump_builder__end_context(reading->builder, counts);
    if (result || thread == HS_DUMP_NONE)
        return result;
    hs_dump_counts__add(&dump->thread[thread].counts, &reading->counts);
    struct hs_dump_share share = {(uint32_t)dump->context_count - 1, thread, reading->counts};
    return hs_dump_builder__add_share(reading->builder, &share);
}

// ---- the whole -----------------------------------------------------------------------------------------------------

// Threads that have names only have numbers that mean nothing.
static void number_threads(struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->thread_count; i++)
        dump->thread[i].uid = *dump->thread[i].name ? i : dump->thread[i].uid;
}

static int read_comment(struct read_pprof_reading *reading, uint64_t index)
{
    const char *text = string(reading, index);
    struct hs_line line = {text, text + strlen(text)};
    return hs_line__fact(&line, reading->builder);
}

typedef int (*part_reader)(struct read_pprof_reading *reading, const struct hs_field *field);

static int collect(struct read_pprof_reading *reading, const struct hs_field *field)
{
    void *strings = reading->strings;
    if (field->number != PROFILE_STRING || field->wire != HS_WIRE_BYTES)
        return 0;
    bool fits = has_room(&strings, reading->string_count, &reading->string_room, sizeof(*reading->strings));
    reading->strings = strings;
    size_t length = (size_t)(field->bytes.end - field->bytes.at);
    if (fits)
        reading->strings[reading->string_count++] = (struct read_pprof_text){
            .at = (const char *)field->bytes.at, .length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX};
    return fits ? 0 : -ENOMEM;
}

static int read_tables(struct read_pprof_reading *reading, const struct hs_field *field)
{
    switch (field->number) {
    case PROFILE_SAMPLE_TYPE:
        read_type(reading, field->bytes);
        return 0;
    case PROFILE_MAPPING:
        return read_mapping(reading, field->bytes);
    case PROFILE_FUNCTION:
        return read_function(reading, field->bytes);
    case PROFILE_PERIOD:
        reading->builder->dump->period = field->value;
        return 0;
    case PROFILE_COMMENT:
        return field->wire == HS_WIRE_NUMBER ? read_comment(reading, field->value) : 0;
    default:
        return 0;
    }
}

static int read_locations(struct read_pprof_reading *reading, const struct hs_field *field)
{
    return field->number == PROFILE_LOCATION ? read_location(reading, field->bytes) : 0;
}

static int read_samples(struct read_pprof_reading *reading, const struct hs_field *field)
{
    return field->number == PROFILE_SAMPLE ? read_sample(reading, field->bytes) : 0;
}

static int each_part(struct read_pprof_reading *reading, struct hs_proto profile, part_reader read, bool *whole)
{
    struct hs_field field;
    int result = 0;
    while (!result && hs_proto__field(&profile, &field))
        result = read(reading, &field);
    *whole = profile.at == profile.end;
    return result;
}

// Without the table of strings the types have no names; two or four values have an usual order.
static void guess_types(struct read_pprof_reading *reading)
{
    struct hs_dump_counts *counts = &reading->counts;
    uint64_t *const order[] = {&counts->all_blocks, &counts->all_bytes, &counts->live_blocks, &counts->live_bytes};
    for (unsigned i = 0; i < MOST_VALUES; i++)
        reading->unit_of_value[i] = 1;
    for (unsigned i = 0; i < 4 && reading->types == 4; i++)
        reading->dump_of_value[i] = order[i];
    for (unsigned i = 0; i < 2 && reading->types == 2; i++)
        reading->dump_of_value[i] = order[2 + i];
}

static bool has_values(const struct read_pprof_reading *reading, const uint64_t *of)
{
    for (unsigned i = 0; i < MOST_VALUES; i++) {
        if (reading->dump_of_value[i] == of)
            return true;
    }
    return false;
}

static int read_all(struct read_pprof_reading *reading, struct hs_proto profile, bool *whole)
{
    int result = each_part(reading, profile, collect, whole);
    if (!result)
        result = each_part(reading, profile, read_tables, whole);
    if (!result)
        result = each_part(reading, profile, read_locations, whole);
    if (!*whole && !reading->string_count)
        guess_types(reading);
    struct hs_dump *dump = reading->builder->dump;
    dump->has_blocks =
        has_values(reading, &reading->counts.live_blocks) || has_values(reading, &reading->counts.all_blocks);
    dump->has_all = has_values(reading, &reading->counts.all_bytes);
    if (!result && !has_values(reading, &reading->counts.live_bytes) && !dump->has_all)
        return -EINVAL;
    if (!result)
        result = each_part(reading, profile, read_samples, whole);
    number_threads(dump);
    // A writer that counts no more than what is live fills the other columns with zeros.
    dump->lacks_live = !has_values(reading, &reading->counts.live_bytes);
    if (!dump->lacks_live)
        dump->has_all = false; // until a stack has some
    return result;
}

static int warn(const struct read_pprof_reading *reading, bool whole)
{
    int result = 0;
    if (!whole)
        result = hs_dump_builder__warn(reading->builder,
                                       "the file ends too early or is damaged; the part before that is used");
    if (!result && reading->damaged)
        result = hs_dump_builder__warn(reading->builder, "%llu frames are missing in the file",
                                       (unsigned long long)reading->damaged);
    return result;
}

int hs_dump_read__pprof(struct hs_dump_builder *builder, const uint8_t *bytes, size_t length, bool cut,
                        struct hs_error *error)
{
    struct read_pprof_reading reading = {.builder = builder};
    bool whole = true;
    builder->dump->format = HS_DUMP_PPROF;
    builder->dump->sampling = HS_SAMPLING_NONE;
    int result = read_all(&reading, (struct hs_proto){bytes, bytes + length}, &whole);
    if (result == -EINVAL)
        hs_error__set(error, EINVAL,
                      "%s: a profile without memory: none of its values is called inuse_space, alloc_space or space",
                      builder->dump->name);
    if (!result)
        result = warn(&reading, whole && !cut);
    if (result && result != -EINVAL)
        hs_error__set(error, -result, "%s: out of memory", builder->dump->name);
    free(reading.strings);
    free(reading.functions);
    hs_id_map__free(&reading.function_of);
    hs_id_map__free(&reading.mapping_of);
    hs_id_map__free(&reading.location_of);
    return result;
}

static bool is_type(struct hs_proto message)
{
    struct hs_field field;
    while (hs_proto__field(&message, &field)) {
        if (field.number > 2 || field.wire != HS_WIRE_NUMBER)
            return false;
    }
    return message.at == message.end;
}

// A type of values, and nothing that makes no sense before it.
bool hs_dump_recognise__pprof(const uint8_t *bytes, size_t length)
{
    struct hs_proto profile = {bytes, bytes + length};
    struct hs_field field;
    bool seen = false;
    while (hs_proto__field(&profile, &field)) {
        bool message = field.number >= PROFILE_SAMPLE_TYPE && field.number <= PROFILE_STRING;
        if (field.number > 15 || (message && field.wire != HS_WIRE_BYTES))
            return false;
        if (field.number == PROFILE_SAMPLE_TYPE && !is_type(field.bytes))
            return false;
        seen |= field.number == PROFILE_SAMPLE_TYPE;
    }
    return seen;
}
