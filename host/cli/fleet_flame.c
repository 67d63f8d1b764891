// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/fleet_flame.h"

#include "host/base/text_stream.h"
#include "host/cli/output.h"
#include "host/cli/subject.h"
#include "host/dump/builder.h"
#include "host/dump/write.h"
#include "host/export/export.h"
#include "host/fleet/keys.h"
#include "host/fleet/names.h"
#include "host/fleet/tsv.h"
#include "host/symbols/strings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// So many stacks are named at once: the list of them has to fit into a statement.
enum { BATCH = 5000, STACKS_MOST = 1000000 };

struct flame_row {
    uint64_t stack;
    struct hs_dump_counts counts;
};

struct flame {
    const struct hs_arguments *arguments;
    struct hs_database *database;
    struct hs_dump *dump;
    struct hs_dump_builder builder;
    struct hs_id_map location_of; // by a hash of its lines
    struct flame_row *rows;
    size_t count;
};

// ---- stacks --------------------------------------------------------------------------------------------------------

static int read_rows(struct flame *flame, const struct hs_fleet_slice *slice, struct hs_error *error)
{
    struct hs_fleet_slice all = *slice;
    struct hs_buffer answer = {0};
    const struct hs_fleet_question *question = hs_fleet_questions;
    while (strcmp(question->name, "stacks") != 0)
        question++;
    all.top = STACKS_MOST;
    char *statement = hs_fleet_question__statement(question, &all), *field[3];
    int failed = statement ? hs_database__ask(flame->database, statement, &answer, error)
                           : hs_error__set(error, ENOMEM, "out of memory");
    free(statement);
    size_t room = 1;
    for (size_t i = 0; i < answer.count; i++)
        room += answer.bytes[i] == '\n';
    flame->rows = failed ? NULL : calloc(room, sizeof(*flame->rows));
    if (!failed && !flame->rows)
        failed = hs_error__set(error, ENOMEM, "out of memory");
    for (struct hs_tsv table = hs_tsv__begin(&answer); !failed && hs_tsv__next(&table, field, 3); flame->count++) {
        struct flame_row *row = &flame->rows[flame->count];
        row->stack = strtoull(field[0], NULL, 10);
        row->counts.live_bytes = strtoull(field[1], NULL, 10);
        row->counts.live_blocks = strtoull(field[2], NULL, 10);
    }
    hs_buffer__free(&answer);
    return failed;
}

static uint64_t text_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = hs_fleet_key__mixed(hash + (unsigned char)*text);
    return hs_fleet_key__mixed(hash + 256);
}

// What a report calls it.
static const char *function_of(struct flame *flame, const struct hs_fleet_frame *frame)
{
    char text[64];
    const char *name = *frame->function ? frame->function : *frame->module ? frame->module : "[no file]";
    size_t length = strlen(name);
    if (*frame->function || !*frame->module)
        return hs_dump_builder__string(&flame->builder, name, length);
    snprintf(text, sizeof(text), "+0x%" PRIx64, frame->offset);
    char *whole = malloc(length + sizeof(text));
    if (!whole)
        return NULL;
    memcpy(whole, name, length);
    strcpy(whole + length, text);
    const char *kept = hs_dump_builder__string(&flame->builder, whole, strlen(whole));
    free(whole);
    return kept;
}

// A place in the code with the functions that are inlined there: `count` frames.
static uint32_t location_of(struct flame *flame, const struct hs_fleet_frame *frames, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        hash = text_hash(text_hash(text_hash(hash + frames[i].line, frames[i].function), frames[i].file),
                         frames[i].module) +
               (*frames[i].function ? 0 : frames[i].offset);
    uint32_t known = hs_id_map__find(&flame->location_of, hash);
    if (known != UINT32_MAX)
        return known;
    const struct hs_dump_location location = {.mapping = HS_DUMP_NONE};
    uint32_t added = hs_dump_builder__add_location(&flame->builder, &location);
    if (added == HS_DUMP_NONE || hs_id_map__set(&flame->location_of, hash, added))
        return HS_DUMP_NONE;
    for (size_t i = 0; i < count; i++) {
        const struct hs_dump_line line = {
            .function = function_of(flame, &frames[i]),
            .file = *frames[i].file ? hs_dump_builder__string(&flame->builder, frames[i].file, strlen(frames[i].file))
                                    : NULL,
            .line = frames[i].line};
        if (!line.function || hs_dump_builder__add_line(&flame->builder, added, &line))
            return HS_DUMP_NONE;
    }
    return added;
}

static int add_stack(struct flame *flame, const struct hs_fleet_stack *stack, const struct hs_dump_counts *counts)
{
    for (size_t i = 0, end; stack && i < stack->count; i = end) {
        for (end = i + 1; stack->frames[end - 1].inlined && end < stack->count;)
            end++;
        uint32_t location = location_of(flame, &stack->frames[i], end - i);
        if (location == HS_DUMP_NONE || hs_dump_builder__add_frame(&flame->builder, location))
            return -ENOMEM;
    }
    return hs_dump_builder__end_context(&flame->builder, counts);
}

static int add_batch(struct flame *flame, size_t first, size_t count, struct hs_error *error)
{
    uint64_t keys[BATCH];
    struct hs_fleet_names *names;
    for (size_t i = 0; i < count; i++)
        keys[i] = flame->rows[first + i].stack;
    int failed = hs_fleet_names__read(flame->database, keys, count, &names, error);
    if (failed)
        return failed;
    for (size_t i = 0; i < count && !failed; i++)
        failed = add_stack(flame, hs_fleet_names__stack(names, keys[i]), &flame->rows[first + i].counts);
    hs_fleet_names__free(names);
    return failed ? hs_error__set(error, ENOMEM, "out of memory") : 0;
}

static int make_dump(struct flame *flame, struct hs_error *error)
{
    int failed = 0;
    flame->dump->name = hs_database__address(flame->database);
    flame->dump->format = HS_DUMP_COLLAPSED;
    flame->dump->has_blocks = true;
    flame->dump->executable = "";
    flame->dump->strings = hs_strings__create();
    hs_dump_builder__start(&flame->builder, flame->dump);
    if (!flame->dump->strings)
        failed = hs_error__set(error, ENOMEM, "out of memory");
    for (size_t at = 0; at < flame->count && !failed; at += BATCH)
        failed = add_batch(flame, at, flame->count - at < BATCH ? flame->count - at : BATCH, error);
    if (!failed && hs_dump_builder__finish(&flame->builder))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    hs_dump_builder__free(&flame->builder);
    hs_id_map__free(&flame->location_of);
    return failed;
}

// ---- writing -------------------------------------------------------------------------------------------------------

// Returns 0 or -ENOMEM.
static int write_sums(FILE *out, const struct hs_dump *dump, const struct hs_export_format *format, bool blocks)
{
    struct hs_dump_view view;
    const struct hs_symbols_options symbols = {0};
    const struct hs_export_options options = {.cost = HS_COST_LIVE, .blocks = blocks};
    int failed = hs_dump_view__open(&view, dump, NULL, &symbols);
    if (failed)
        return failed;
    failed = hs_dump_view__add_up(&view, NULL);
    if (!failed)
        failed = format->write(out, &view.subject, &options);
    hs_dump_view__close(&view);
    return failed;
}

static int write_flame(struct flame *flame, const char *word)
{
    enum hs_dump_output dump_output;
    struct hs_output output;
    bool of_dumps = hs_dump_output__parse(word, &dump_output);
    bool blocks = !strcmp(hs_arguments__text(flame->arguments, "unit", "bytes"), "count");
    int status = hs_output__open(&output, flame->arguments, hs_arguments__text(flame->arguments, "output", "-"));
    if (status)
        return status;
    int failed = of_dumps ? hs_dump__write(output.out, flame->dump, dump_output)
                          : write_sums(output.out, flame->dump, hs_export_format__find(word), blocks);
    if (failed)
        hs_complain(flame->arguments->command, "out of memory; a narrower slice needs less");
    status = hs_output__close(&output, flame->arguments, !failed);
    return failed ? HS_EXIT_FAILURE : status;
}

// Single blocks are not in the database, and neither are addresses.
static bool can_be_written(const char *word)
{
    enum hs_dump_output output;
    if (hs_dump_output__parse(word, &output))
        return output == HS_DUMP_TO_PPROF || output == HS_DUMP_TO_SYMBOLIZED;
    return !hs_export_format__find(word)->of_blocks;
}

int hs_fleet_flame__run(const struct hs_arguments *arguments, struct hs_database *database,
                        const struct hs_fleet_slice *slice)
{
    struct hs_error error;
    const char *word = hs_arguments__text(arguments, "format", "flamegraph");
    struct flame flame = {.arguments = arguments, .database = database};
    if (!can_be_written(word)) {
        char formats[512];
        hs_export_formats__list_of_stacks(formats, sizeof(formats));
        hs_complain(arguments->command,
                    "%s needs single blocks or addresses, which a fleet does not have; give one of: "
                    "pprof symbolized %s",
                    word, formats);
        return HS_EXIT_USAGE;
    }
    flame.dump = calloc(1, sizeof(*flame.dump));
    int failed = flame.dump ? read_rows(&flame, slice, &error) : hs_error__set(&error, ENOMEM, "out of memory");
    if (!failed)
        failed = make_dump(&flame, &error);
    int status = HS_EXIT_FAILURE;
    if (failed)
        hs_complain(arguments->command, "%s", error.message);
    else
        status = write_flame(&flame, word);
    hs_dump__close(flame.dump);
    free(flame.rows);
    return status;
}
