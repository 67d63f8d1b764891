// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde fleet: many devices in one database.
#include "host/base/json.h"
#include "host/cli/commands.h"
#include "host/cli/fleet_flame.h"
#include "host/cli/fleet_gate.h"
#include "host/cli/output.h"
#include "host/cli/subject.h"
#include "host/filter/nearest.h"
#include "host/fleet/asking.h"
#include "host/fleet/conditions.h"
#include "host/fleet/load_dumps.h"
#include "host/fleet/questions.h"
#include "host/fleet/schema.h"
#include "host/fleet/slice_dump.h"
#include "host/fleet/symbolize.h"
#include "host/report/text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROWS = 10, FRAMES = 8 };

struct fleet_job {
    const struct hs_arguments *arguments;
    struct hs_database *database;
    const char *const *operands; // behind the action and the database; NULL ends them
    struct hs_fleet_slice slice;
    struct hs_fleet_conditions conditions; // of the slice
};

static int fail(const struct fleet_job *job, const struct hs_error *error)
{
    hs_complain(job->arguments->command, "%s", error->message);
    return HS_EXIT_FAILURE;
}

// ---- init and load -------------------------------------------------------------------------------------------------

static int init(struct fleet_job *job)
{
    struct hs_error error;
    bool made;
    if (hs_fleet_schema__init(job->database, (unsigned)hs_arguments__number(job->arguments, "keep", 90), &made, &error))
        return fail(job, &error);
    printf(made ? "%s: the tables are made\n" : "%s: the tables exist already\n", hs_database__address(job->database));
    return HS_EXIT_OK;
}

struct fleet_loading {
    struct fleet_job *job;
    struct hs_sender *sender;
    struct hs_sender_device device;
    struct hs_fleet_dump_files *dump_files;
    struct hs_fleet_loaded loaded;
    size_t files, dumps, other_files;
};

static int note_dump(struct fleet_loading *loading, const char *path, bool given, struct hs_error *error)
{
    int failed = hs_fleet_dump_files__add(loading->dump_files, &loading->device, path, error);
    loading->dumps += !failed;
    if (!failed || given || failed == -ENOMEM)
        return failed;
    loading->other_files++;
    return 0;
}

static int load_file(struct fleet_loading *loading, const char *path, bool given, struct hs_error *error)
{
    struct hs_fleet_load *load;
    uint64_t end = 0, ticks = loading->loaded.ticks;
    int failed = hs_fleet_load__open(path, &loading->device, &load, error);
    if (failed && !given && failed != -ENOMEM) {
        loading->other_files++;
        return 0;
    }
    if (failed)
        return failed;
    failed = hs_fleet_load__go_on(load, loading->sender, true, 0, &end, &loading->loaded, error);
    if (!failed && given && loading->loaded.ticks == ticks)
        failed = hs_error__set(error, ENOTSUP, "%s: holds neither sums nor events", path);
    loading->files += loading->loaded.ticks != ticks;
    loading->other_files += loading->loaded.ticks == ticks;
    hs_fleet_load__close(load);
    return failed;
}

static bool is_dump(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !hs_is_trace(path) && hs_dump__recognise(path);
}

static int load_folder(struct fleet_loading *loading, const char *path, struct hs_error *error)
{
    struct dirent **entry;
    int count = scandir(path, &entry, NULL, alphasort), failed = 0;
    if (count < 0)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *name = entry[i]->d_name, *suffix = strrchr(name, '.');
        char *file = NULL;
        if (!failed && asprintf(&file, "%s/%s", path, name) < 0)
            failed = -ENOMEM;
        else if (!failed && suffix && !strcmp(suffix, ".dat"))
            failed = load_file(loading, file, false, error);
        else if (!failed && is_dump(file))
            failed = note_dump(loading, file, false, error);
        free(file);
        free(entry[i]);
    }
    free(entry);
    return failed;
}

static int load_path(struct fleet_loading *loading, const char *path, struct hs_error *error)
{
    struct stat status;
    if (stat(path, &status))
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return load_folder(loading, path, error);
    return is_dump(path) ? note_dump(loading, path, true, error) : load_file(loading, path, true, error);
}

static void print_loaded(const struct fleet_loading *loading)
{
    printf("%s rows of %s ticks from %zu trace%s", hs_text__count(loading->loaded.rows).text,
           hs_text__count(loading->loaded.ticks).text, loading->files, loading->files == 1 ? "" : "s");
    if (loading->dumps)
        printf(" and %zu dump%s", loading->dumps, loading->dumps == 1 ? "" : "s");
    if (loading->other_files)
        printf("; %zu other file%s", loading->other_files, loading->other_files == 1 ? " was" : "s were");
    puts(loading->other_files ? " left out" : "");
}

static int load_all(struct fleet_loading *loading, struct hs_error *error)
{
    const struct fleet_job *job = loading->job;
    if (!loading->sender || !loading->dump_files)
        return -ENOMEM;
    int failed = hs_fleet_schema__check(job->database, error);
    for (size_t i = 0; job->operands[i] && !failed; i++)
        failed = load_path(loading, job->operands[i], error);
    if (!failed)
        failed = hs_fleet_dump_files__load(loading->dump_files, &loading->loaded, error);
    return failed ? failed : hs_sender__flush(loading->sender, error);
}

static int load(struct fleet_job *job)
{
    struct hs_error error = {.message = "out of memory"};
    const struct hs_arguments *arguments = job->arguments;
    struct fleet_loading loading = {
        .job = job,
        .sender = hs_sender__create(job->database),
        .device = {.device = hs_arguments__text(arguments, "device", NULL),
                   .labels = hs_arguments__text(arguments, "labels", NULL),
                   .firmware_label = hs_arguments__text(arguments, "firmware-label", "firmware")}};
    loading.dump_files = hs_fleet_dump_files__create(loading.sender, job->database);
    int failed = load_all(&loading, &error);
    hs_fleet_dump_files__free(loading.dump_files);
    hs_sender__free(loading.sender);
    if (failed)
        return fail(job, &error);
    print_loaded(&loading);
    return HS_EXIT_OK;
}

static void print_missing(void *context, const char *build, const char *path)
{
    (void)context;
    fputs("  ", stdout);
    hs_text__print(stdout, path, strlen(path));
    printf(" (%s)\n", build);
}

static int symbolize(struct fleet_job *job)
{
    struct hs_error error;
    struct hs_symbols_options options;
    struct hs_fleet_symbolized result;
    int status = hs_symbols_options__read(&options, job->arguments);
    if (status)
        return status;
    int failed = hs_fleet_schema__check(job->database, &error);
    if (!failed)
        failed = hs_fleet__symbolize(job->database, &options, print_missing, NULL, &result, &error);
    hs_symbols_options__free(&options);
    if (failed)
        return fail(job, &error);
    if (result.missing_builds)
        printf("These files were not found by their build ids; give their folder with --sysroot or --debug-dir.\n");
    printf("%s code addresses have names now, %s do not\n", hs_text__count(result.named).text,
           hs_text__count(result.unnamed).text);
    return HS_EXIT_OK;
}

// ---- questions -----------------------------------------------------------------------------------------------------

static void print_json(const struct hs_fleet_question *question, struct hs_tsv table, uint64_t most)
{
    struct hs_json json;
    char *field[HS_FLEET_FIELDS];
    hs_json__start(&json, stdout, true);
    hs_json__open_array(&json, NULL);
    for (; most && hs_tsv__next(&table, field, HS_FLEET_FIELDS); most--) {
        hs_json__open_object(&json, NULL);
        hs_fleet_row__write(&json, question, field);
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    putchar('\n');
}

static void print_frame(const struct hs_fleet_frame *frame)
{
    fputs("        ", stdout);
    if (*frame->function) {
        hs_text__print(stdout, frame->function, strlen(frame->function));
        if (*frame->file) {
            fputs(" (", stdout);
            hs_text__print(stdout, frame->file, strlen(frame->file));
            printf(":%u)", frame->line);
        }
    } else if (*frame->module) {
        hs_text__print(stdout, frame->module, strlen(frame->module));
        printf("+0x%" PRIx64, frame->offset);
    } else {
        fputs("[no file]", stdout);
    }
    puts(frame->inlined ? " [inlined]" : "");
}

static void print_stack(const struct hs_fleet_names *names, uint64_t key)
{
    const struct hs_fleet_stack *stack = hs_fleet_names__stack(names, key);
    if (!stack) {
        puts(key ? "        [unknown]" : "        [no stack]");
        return;
    }
    for (size_t i = 0; i < stack->count && i < FRAMES; i++)
        print_frame(&stack->frames[i]);
    if (stack->count > FRAMES)
        puts("        ...");
}

struct fleet_rows {
    char *(*field)[HS_FLEET_FIELDS];
    size_t count;
};

static struct hs_text bytes(const char *number)
{
    return hs_text__bytes(strtoull(number, NULL, 10));
}

static void print_name(const char *text)
{
    hs_text__print(stdout, *text ? text : "-", *text ? strlen(text) : 1);
}

// Of how many devices the numbers are made from samples.
static void print_estimated(const char *devices)
{
    const uint64_t count = strtoull(devices, NULL, 10);
    if (count)
        printf("; estimated on %s device%s", hs_text__count(count).text, count == 1 ? "" : "s");
}

static void print_growth(const struct fleet_rows *rows, const struct hs_fleet_names *names)
{
    for (size_t i = 0; i < rows->count; i++) {
        char **field = rows->field[i];
        printf("%3zu. +%s on %s of %s devices; ", i + 1, bytes(field[5]).text,
               hs_text__count(strtoull(field[4], NULL, 10)).text, hs_text__count(strtoull(field[3], NULL, 10)).text);
        print_name(field[0]);
        fputs(", firmware ", stdout);
        print_name(field[1]);
        printf("; in use %s; since %s", bytes(field[6]).text, field[7]);
        print_estimated(field[8]);
        printf("; stack %s\n", field[2]);
        print_stack(names, strtoull(field[2], NULL, 10));
    }
    if (!rows->count)
        puts("No stack grows.");
}

static void print_new(const struct fleet_rows *rows, const struct hs_fleet_names *names)
{
    for (size_t i = 0; i < rows->count; i++) {
        char **field = rows->field[i];
        printf("%3zu. %s in use on %s devices; ", i + 1, bytes(field[4]).text,
               hs_text__count(strtoull(field[3], NULL, 10)).text);
        print_name(field[0]);
        printf("; since %s", field[5]);
        print_estimated(field[6]);
        printf("; stack %s\n", field[2]);
        print_stack(names, strtoull(field[2], NULL, 10));
    }
    if (!rows->count)
        puts("There is no new stack.");
}

static void print_stacks(const struct fleet_rows *rows, const struct hs_fleet_names *names)
{
    for (size_t i = 0; i < rows->count; i++) {
        char **field = rows->field[i];
        printf("%3zu. %s in use in %s on %s devices", i + 1, bytes(field[1]).text,
               hs_text__blocks(strtoull(field[2], NULL, 10)).text, hs_text__count(strtoull(field[3], NULL, 10)).text);
        print_estimated(field[4]);
        printf("; stack %s\n", field[0]);
        print_stack(names, strtoull(field[0], NULL, 10));
    }
    if (!rows->count)
        puts("There are no samples of this kind.");
}

// Columns as wide as their widest value; sizes are rounded.
static struct hs_text shown(const char *column, const char *value)
{
    struct hs_text text;
    if (strstr(column, "per_hour")) {
        double rate = strtod(value, NULL);
        snprintf(text.text, sizeof(text.text), "%s%s", rate < 0 ? "-" : "+",
                 hs_text__bytes((uint64_t)(rate < 0 ? -rate : rate)).text);
    } else if (strstr(column, "bytes")) {
        return bytes(value);
    } else if (!strcmp(column, "deviations")) {
        snprintf(text.text, sizeof(text.text), "%.1f", strtod(value, NULL));
    } else {
        snprintf(text.text, sizeof(text.text), "%.*s", (int)sizeof(text.text) - 1, *value ? value : "-");
        hs_text__clean(text.text);
    }
    return text;
}

static void print_table(const struct hs_fleet_question *question, const struct fleet_rows *rows)
{
    size_t width[HS_FLEET_FIELDS];
    char head[48];
    for (size_t i = 0; question->columns[i]; i++) {
        width[i] = strlen(question->columns[i]);
        for (size_t row = 0; row < rows->count; row++) {
            size_t wide = strlen(shown(question->columns[i], rows->field[row][i]).text);
            width[i] = wide > width[i] ? wide : width[i];
        }
    }
    for (size_t row = 0; row <= rows->count; row++) {
        for (size_t i = 0; question->columns[i]; i++) {
            snprintf(head, sizeof(head), "%s", question->columns[i]);
            for (char *at = head; *at; at++)
                *at = *at == '_' ? ' ' : *at;
            struct hs_text cell = row ? shown(question->columns[i], rows->field[row - 1][i]) : (struct hs_text){0};
            printf(hs_fleet_column__is_number(question->columns[i]) ? "%s%*s" : "%s%-*s", i ? "  " : "", (int)width[i],
                   row ? cell.text : head);
        }
        putchar('\n');
    }
}

static int print_rows(struct fleet_job *job, const struct hs_fleet_question *question, const struct fleet_rows *rows,
                      struct hs_error *error)
{
    size_t column;
    if (!hs_fleet_question__has_stacks(question, &column)) {
        print_table(question, rows);
        return 0;
    }
    struct hs_fleet_names *names;
    uint64_t *keys = calloc(rows->count + 1, sizeof(*keys));
    for (size_t i = 0; keys && i < rows->count; i++)
        keys[i] = strtoull(rows->field[i][column], NULL, 10);
    int failed = keys ? hs_fleet_names__read(job->database, keys, rows->count, &names, error) : -ENOMEM;
    free(keys);
    if (failed)
        return failed;
    if (!strcmp(question->name, "growth"))
        print_growth(rows, names);
    else if (!strcmp(question->name, "new"))
        print_new(rows, names);
    else
        print_stacks(rows, names);
    hs_fleet_names__free(names);
    return 0;
}

static int print_answer(struct fleet_job *job, const struct hs_fleet_question *question, struct hs_buffer *answer,
                        struct hs_error *error)
{
    struct hs_tsv table = hs_tsv__begin(answer);
    struct fleet_rows rows = {.field = calloc(job->slice.top + 1, sizeof(*rows.field))};
    if (!rows.field)
        return hs_error__set(error, ENOMEM, "out of memory");
    int failed = 0;
    if (hs_arguments__flag(job->arguments, "json"))
        print_json(question, table, job->slice.top);
    else {
        while (rows.count < job->slice.top && hs_tsv__next(&table, rows.field[rows.count], HS_FLEET_FIELDS))
            rows.count++;
        failed = print_rows(job, question, &rows, error);
    }
    free(rows.field);
    return failed;
}

static int ask(struct fleet_job *job, const struct hs_fleet_question *question)
{
    struct hs_error error = {.message = "out of memory"};
    struct hs_buffer answer = {0};
    struct hs_fleet_gate *gate;
    struct hs_fleet_slice slice = job->slice;
    int failed = 0, status = hs_fleet_gate__read(&gate, job->arguments, question);
    // Conditions are about all rows, whatever is shown.
    if (gate)
        slice.top = HS_FLEET_ROWS_MOST;
    if (!status)
        failed = hs_fleet__ask(job->database, question, &slice, hs_arguments__flag(job->arguments, "rollup"), &answer,
                               &error);
    if (!status && !failed) {
        status = hs_fleet_gate__check(gate, &answer);
        failed = print_answer(job, question, &answer, &error);
    }
    hs_buffer__free(&answer);
    hs_fleet_gate__free(gate);
    return failed ? fail(job, &error) : status;
}

// ---- the command ---------------------------------------------------------------------------------------------------

static int no_stack(const struct fleet_job *job, const char *text)
{
    hs_complain(job->arguments->command, "'%s' is not the number of a stack; 'growth' and 'stacks' print these numbers",
                text);
    return HS_EXIT_USAGE;
}

static int no_action(const struct fleet_job *job, const char *name)
{
    struct hs_nearest nearest = {.word = name, .length = strlen(name)};
    static const char *const others[] = {"init", "load", "symbolize", "flame", "sql"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        hs_nearest__offer(&nearest, others[i]);
    for (const struct hs_fleet_question *question = hs_fleet_questions; question->name; question++)
        hs_nearest__offer(&nearest, question->name);
    hs_complain(job->arguments->command, "there is no action '%s'%s%s%s; 'heapsonde help fleet' lists them", name,
                nearest.found ? "; did you mean '" : "", nearest.found ? nearest.found : "", nearest.found ? "'?" : "");
    return HS_EXIT_USAGE;
}

static int wants(const struct fleet_job *job, const char *what)
{
    hs_complain(job->arguments->command, "%s is missing; 'heapsonde help fleet' shows how it is used", what);
    return HS_EXIT_USAGE;
}

// Whether a question can answer what is asked of it.
static int check_reach(const struct fleet_job *job, const char *name, enum hs_fleet_reach reach)
{
    struct hs_error error;
    if (!hs_fleet_question__check_reach(name, reach, &job->slice, "--device", &error))
        return 0;
    hs_complain(job->arguments->command, "%s", error.message);
    return HS_EXIT_USAGE;
}

static int print_statement(struct fleet_job *job)
{
    const struct hs_fleet_question *question = job->operands[0] ? hs_fleet_question__find(job->operands[0]) : NULL;
    if (!question)
        return job->operands[0] ? no_action(job, job->operands[0]) : wants(job, "the name of a question");
    if (job->operands[0] && job->operands[1])
        job->slice.stack = strtoull(job->operands[1], NULL, 10);
    int status = check_reach(job, question->name, question->reach);
    if (status)
        return status;
    char *statement = hs_fleet_question__statement(question, &job->slice);
    if (!statement)
        return HS_EXIT_FAILURE;
    puts(statement);
    free(statement);
    return HS_EXIT_OK;
}

// Filters are for questions.
static int make_conditions(struct fleet_job *job, const char *action)
{
    static const char *const unfiltered[] = {"init", "load", "symbolize"};
    struct hs_error error;
    const struct hs_filter_parameters *filter = &job->arguments->filter;
    for (size_t i = 0; filter->count && i < sizeof(unfiltered) / sizeof(*unfiltered); i++) {
        if (!strcmp(action, unfiltered[i])) {
            hs_complain(job->arguments->command, "filters are for questions; leave them out of '%s'", action);
            return HS_EXIT_USAGE;
        }
    }
    if (hs_fleet_conditions__make(&job->conditions, filter, &error)) {
        hs_complain(job->arguments->command, "%s", error.message);
        return HS_EXIT_USAGE;
    }
    job->slice.conditions = &job->conditions;
    return 0;
}

static int act(struct fleet_job *job, const char *action)
{
    if (!strcmp(action, "init"))
        return init(job);
    if (!strcmp(action, "load"))
        return job->operands[0] ? load(job) : wants(job, "a trace or a folder");
    if (!strcmp(action, "symbolize"))
        return symbolize(job);
    if (!strcmp(action, "flame"))
        return hs_fleet_flame__run(job->arguments, job->database, &job->slice);
    if (!strcmp(action, "sql"))
        return print_statement(job);
    const struct hs_fleet_question *question = hs_fleet_question__find(action);
    if (!question)
        return no_action(job, action);
    if (question->of_stack) {
        char *end;
        job->slice.stack = job->operands[0] ? strtoull(job->operands[0], &end, 10) : 0;
        if (job->operands[0] && (!job->slice.stack || *end))
            return no_stack(job, job->operands[0]);
        if (!job->slice.stack)
            return wants(job, "the number of a stack, as 'growth' and 'stacks' print it,");
    }
    if (question->compares && (!job->slice.firmware || !job->slice.than))
        return wants(job, "--firmware or --than");
    int status = check_reach(job, question->name, question->reach);
    return status ? status : ask(job, question);
}

static int run(const struct hs_arguments *arguments)
{
    struct hs_error error;
    struct fleet_job job = {.arguments = arguments,
                            .operands = (const char *const *)arguments->operands + 2,
                            .slice = {.app = hs_arguments__text(arguments, "app", NULL),
                                      .firmware = hs_arguments__text(arguments, "firmware", NULL),
                                      .device = hs_arguments__text(arguments, "device", NULL),
                                      .than = hs_arguments__text(arguments, "than", NULL),
                                      .least = hs_arguments__number(arguments, "least", HS_FLEET_LEAST),
                                      .top = hs_arguments__number(arguments, "top", ROWS)}};
    if (job.slice.top > HS_FLEET_ROWS_MOST)
        job.slice.top = HS_FLEET_ROWS_MOST;
    if (hs_database__open(arguments->operands[1], &job.database, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_USAGE;
    }
    int status = make_conditions(&job, arguments->operands[0]);
    status = status ? status : act(&job, arguments->operands[0]);
    hs_fleet_conditions__free(&job.conditions);
    hs_database__close(job.database);
    return status;
}

static const struct hs_option options[] = {
    {.name = "app", .kind = HS_OPTION_TEXT, .argument = "NAME", .help = "only this program"},
    {.name = "firmware", .kind = HS_OPTION_TEXT, .argument = "NAME", .help = "only this firmware"},
    {.name = "device",
     .kind = HS_OPTION_TEXT,
     .argument = "NAME",
     .help = "only this device; load: the name of the device, by default the host name in the trace"},
    {.name = "than", .kind = HS_OPTION_TEXT, .argument = "FIRMWARE", .help = "new: the firmware to compare with"},
    {.name = "least",
     .kind = HS_OPTION_SIZE,
     .argument = "SIZE",
     .help = "when the rollup is made: ignore devices that grew by less; default 64K"},
    {.name = "top",
     .letter = 'n',
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .help = "at most this many rows; default 10"},
    {.name = "json", .help = "write JSON, sizes in bytes"},
    {.name = "fail-if",
     .kind = HS_OPTION_TEXT,
     .argument = "CONDITION",
     .help = "end with status 3 and a message if this holds for a row of the answer, such as 'grown_bytes > 1M' or "
             "'grown_devices >= 10', with the names that --json has; 'rows > 0': if there is a row at all",
     .repeatable = true},
    {.name = "format",
     .letter = 'f',
     .kind = HS_OPTION_CHOICE,
     .argument = "FORMAT",
     .choices = HS_SLICE_DUMP_CHOICES,
     .help = "flame: what to write, as in 'heapsonde export'; default flamegraph"},
    {.name = "unit",
     .letter = 'u',
     .kind = HS_OPTION_CHOICE,
     .argument = "UNIT",
     .choices = "bytes count",
     .help = "flame: bytes, or the number of blocks; default bytes"},
    {.name = "per-device", .help = "flame: divide all numbers by the number of devices, to compare firmwares"},
    HS_OUTPUT_OPTION,
    {.name = "rollup", .help = "growth, new: make the rollup now, even if it is younger than five minutes"},
    {.name = "labels", .kind = HS_OPTION_TEXT, .argument = "KEY=VALUE,...", .help = "load: the labels of the device"},
    {.name = "firmware-label",
     .kind = HS_OPTION_TEXT,
     .argument = "KEY",
     .help = "load: the label that names the firmware; default firmware"},
    {.name = "keep",
     .kind = HS_OPTION_NUMBER,
     .argument = "DAYS",
     .help = "init: how long the server keeps samples, if it can delete them; default 90"},
    HS_FILTER_OPTIONS_WITH(0),
    HS_SYMBOL_OPTIONS,
    {0},
};

// Of a lifetime, some values.
static bool takes(const struct hs_option *option)
{
    return option->kind != HS_OPTION_FILTER ||
           hs_fleet_conditions__takes((enum hs_parameter_id)(hs_parameter__find(option->parameter) - hs_parameters));
}

const struct hs_command hs_command_fleet = {
    .name = "fleet",
    .synopsis = "[OPTIONS] ACTION clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE [OPERAND ...]",
    .summary = "ask a database about many devices: what grows, on which of them, since which firmware",
    .description =
        "Keeps the sums of many devices in a ClickHouse database and answers questions about all of them. init "
        "makes the tables. load reads traces of sums ('heapsonde run --aggregate') or of events, heap dumps of "
        "samplers, or folders of them, and inserts their sums; loading one again changes nothing. Answers say how "
        "many devices have estimates from dumps. symbolize looks up function names: files are found by their build "
        "ids, once for all devices. growth lists the stacks that grow, with the number of devices; the first hour "
        "of a session, in which caches fill, does not count. new lists the stacks of --firmware that --than does "
        "not have. devices lists the devices that grow fastest, with the distance from the mean of their firmware "
        "in standard deviations. sessions lists the recorded processes of devices, firmwares the percentiles of "
        "each firmware, stacks what is in use now, and stack NUMBER the devices that have a stack. flame writes "
        "what is in use now as a flame graph or in another format. sql QUESTION prints the statement of a question. "
        "--app, --firmware and --device narrow a question. The filters below, which sums of stacks can answer, narrow "
        "it, too; others are refused with the reason.",
    .operand = HS_OPERAND_ACTION,
    .least_operands = 2,
    .most_operands = -1,
    .options = options,
    .takes = takes,
    .run = run,
};
