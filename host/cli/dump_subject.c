// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A heap dump where a trace may be given.
#include "host/cli/subject.h"
#include "host/cli/values.h"
#include "host/convert/convert.h"
#include "host/dump/series.h"

#include "format/trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool hs_is_trace(const char *path)
{
    char magic[HS_FILE_MAGIC_LENGTH] = "";
    struct stat status;
    // A pipe would lose what is read from it.
    bool regular = !stat(path, &status) && S_ISREG(status.st_mode);
    FILE *file = regular ? fopen(path, "rbe") : NULL;
    size_t got = file ? fread(magic, 1, sizeof(magic), file) : 0;
    if (file)
        fclose(file);
    if (got == sizeof(magic) && !memcmp(magic, HS_FILE_MAGIC, sizeof(magic)))
        return true;
    return regular && hs_foreign__recognise(path) != HS_FOREIGN_NONE;
}

static int open_part(struct hs_dump **dump, const char *path, uint64_t part, struct hs_error *error)
{
    struct hs_dump *usual;
    int result = hs_dump__open(path, &usual, error);
    if (result || part == HS_DUMP_USUAL || part == usual->part) {
        *dump = usual;
        return result;
    }
    result = hs_dump__open_part(usual, part, dump, error);
    hs_dump__close(usual);
    return result;
}

int hs_open_dump(struct hs_dump **dump, const struct hs_arguments *arguments, const char *path)
{
    struct hs_error error = {.message = ""};
    int result = open_part(dump, path, arguments->part, &error);
    if (!result)
        return 0;
    hs_complain(arguments->command, "%s", error.message);
    return HS_EXIT_FAILURE;
}

// ---- series --------------------------------------------------------------------------------------------------------

bool hs_is_series(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return false;
    return S_ISDIR(status.st_mode) ? hs_dump_series__recognise(path)
                                   : !hs_is_trace(path) && hs_dump__recognise_parts(path);
}

static int read_instant(const struct hs_dump_series *series, const char *at, uint64_t *time, struct hs_error *error)
{
    struct hs_filter_parameters parameters;
    struct hs_resolved_filter resolved;
    const struct hs_subject *subject = &series->view.subject;
    struct hs_filter_scope *scope = hs_filter_scope__create(subject->store, subject->symbols, NULL);
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_START);
    int result = scope ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    if (!result && hs_filter_parameters__take(&parameters, "alive_at", at, error) != HS_PARAMETER_TAKEN)
        result = -EINVAL;
    if (!result)
        result = hs_filter_parameters__resolve(&parameters, scope, NULL, &resolved, error);
    if (!result) {
        *time = resolved.filter.alive_at[0];
        hs_resolved_filter__free(&resolved);
    }
    hs_filter_parameters__free(&parameters);
    hs_filter_scope__destroy(scope);
    return result;
}

int hs_dump_of_series(const char *from, const char *at, char **path, uint64_t *part, struct hs_error *error)
{
    const struct hs_symbols_options options = {0};
    struct hs_dump_series series;
    int result = hs_dump_series__open(&series, from, &options, NULL, error);
    if (result)
        return result;
    if (*series.left_out)
        hs_complain(NULL, "%s: %s", from, series.left_out);
    uint64_t time = UINT64_MAX;
    if (at && !strcmp(at, "peak"))
        time = hs_store__summary(series.view.subject.store)->peak_time;
    else if (at)
        result = read_instant(&series, at, &time, error);
    const struct hs_dump *dump = hs_dump_series__at(&series, time);
    *path = result ? NULL : strdup(dump->name);
    *part = dump->part;
    hs_dump_series__close(&series);
    return result || *path ? result : hs_error__set(error, ENOMEM, "%s: out of memory", from);
}

// ---- restrictions --------------------------------------------------------------------------------------------------

static int check_options(const struct hs_opened *opened, const struct hs_arguments *arguments, struct hs_error *error)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_option *option = arguments->given[i].option;
        if (option->kind == HS_OPTION_FILTER && strcmp(option->parameter, "thread") != 0 &&
            !hs_parameter__is_of_frames((enum hs_parameter_id)(hs_parameter__find(option->parameter) - hs_parameters)))
            return hs_error__set(
                error, EINVAL,
                "--%s: %s is a heap dump, which does not contain single blocks; give a trace, or leave the option out",
                option->name, opened->subject.path);
    }
    return 0;
}

static int add_thread(struct hs_opened *opened, const char *text, struct hs_error *error)
{
    uint64_t number = 0;
    bool is_number = hs_value__number(text, &number);
    bool found = false;
    for (size_t i = 0; i < opened->dump->thread_count; i++) {
        const struct hs_dump_thread *thread = &opened->dump->thread[i];
        if (strcmp(thread->name, text) != 0 && !(is_number && thread->uid == number))
            continue;
        opened->threads[i] = 1;
        found = true;
    }
    if (found)
        return 0;
    return hs_error__set(error, ENOENT, "%s has no thread '%s'; 'heapsonde report --threads %s' lists them",
                         opened->subject.path, text, opened->subject.path);
}

static int choose_threads(struct hs_opened *opened, const struct hs_arguments *arguments, struct hs_error *error)
{
    size_t count = 0;
    const char **names = hs_arguments__texts(arguments, "thread", &count);
    int result = 0;
    if (count) {
        opened->threads = calloc(opened->dump->thread_count + 1, 1);
        if (!opened->threads)
            result = hs_error__set(error, ENOMEM, "--thread: out of memory");
    }
    for (size_t i = 0; !result && i < count; i++)
        result = add_thread(opened, names[i], error);
    free((void *)(uintptr_t)names);
    return result;
}

static int choose_stacks(struct hs_opened *opened, const struct hs_arguments *arguments, struct hs_error *error)
{
    opened->scope = hs_filter_scope__create(opened->view.subject.store, opened->view.subject.symbols, NULL);
    if (!opened->scope)
        return hs_error__set(error, ENOMEM, "%s: out of memory", opened->subject.path);
    return hs_filter_parameters__resolve_frames(&arguments->filter, opened->scope, NULL, &opened->filter, error);
}

// ---- opening -------------------------------------------------------------------------------------------------------

struct hs_dump_choice hs_opened__choice(const struct hs_opened *opened)
{
    const struct hs_set *stacks = &opened->filter.filter.stacks;
    return (struct hs_dump_choice){.threads = opened->threads, .stacks = stacks->words ? stacks : NULL};
}

static int add_up(struct hs_opened *opened)
{
    struct hs_dump_choice choice = hs_opened__choice(opened);
    return hs_dump_view__add_up(&opened->view, &choice);
}

int hs_opened__open_dump(struct hs_opened *opened, const struct hs_arguments *arguments, struct hs_error *error)
{
    int result = open_part(&opened->dump, opened->subject.path, arguments->part, error);
    if (!result)
        result = check_options(opened, arguments, error);
    if (!result)
        result = choose_threads(opened, arguments, error);
    if (result)
        return result;
    if (hs_dump_view__open(&opened->view, opened->dump, NULL, &opened->symbols_options))
        return hs_error__set(error, ENOMEM, "%s: out of memory", opened->subject.path);
    result = choose_stacks(opened, arguments, error);
    if (!result && add_up(opened))
        result = hs_error__set(error, ENOMEM, "%s: out of memory", opened->subject.path);
    const char *restriction = opened->restriction;
    opened->subject = opened->view.subject;
    opened->subject.restriction = restriction;
    return result;
}
