// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/subject.h"

#include "host/cli/cancelling.h"
#include "host/cli/progress.h"
#include "host/convert/convert.h"
#include "host/import/ticks.h"
#include "host/query/query.h"
#include "host/store/torn_pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_store(struct hs_opened *opened, const char *path, struct hs_error *error)
{
    struct hs_progress progress;
    struct hs_cancelling cancelling;
    char what[256];
    snprintf(what, sizeof(what), "reading %s", path);
    hs_progress__start(&progress, what, true);
    struct hs_import_options options = {.symbols = &opened->symbols_options,
                                        .progress = hs_progress__update,
                                        .context = &progress,
                                        .cancel = hs_cancelling__begin(&cancelling)};
    int result = hs_foreign__open(path, &options, &opened->store, error);
    hs_progress__end(&progress);
    hs_cancelling__end(&cancelling);
    return result;
}

int hs_symbols_options__read(struct hs_symbols_options *options, const struct hs_arguments *arguments)
{
    *options = (struct hs_symbols_options){0};
    options->sysroots = hs_arguments__texts(arguments, "sysroot", &options->sysroot_count);
    options->debug_dirs = hs_arguments__texts(arguments, "debug-dir", &options->debug_dir_count);
    options->source_maps = hs_arguments__texts(arguments, "source-map", &options->source_map_count);
    options->perf_maps = hs_arguments__texts(arguments, "perf-map", &options->perf_map_count);
    if (options->sysroots && options->debug_dirs && options->source_maps && options->perf_maps)
        return 0;
    hs_symbols_options__free(options);
    return -ENOMEM;
}

void hs_symbols_options__free(struct hs_symbols_options *options)
{
    free((void *)(uintptr_t)options->sysroots);
    free((void *)(uintptr_t)options->debug_dirs);
    free((void *)(uintptr_t)options->source_maps);
    free((void *)(uintptr_t)options->perf_maps);
    *options = (struct hs_symbols_options){0};
}

static int open_symbols(struct hs_opened *opened, struct hs_error *error)
{
    opened->subject.symbols = hs_trace_symbols__create(opened->store, &opened->symbols_options);
    return opened->subject.symbols ? 0 : hs_error__set(error, ENOMEM, "%s: out of memory", opened->subject.path);
}

// ---- the filter ----------------------------------------------------------------------------------------------------

// If an option that is not repeatable is given several times, the last one is used.
static bool counts(const struct hs_arguments *arguments, size_t place)
{
    const struct hs_option *option = arguments->given[place].option;
    if (option->repeatable)
        return true;
    for (size_t i = place + 1; i < arguments->given_count; i++) {
        const struct hs_option *later = arguments->given[i].option; // maybe by a second name
        if (later->kind == HS_OPTION_FILTER && !strcmp(later->parameter, option->parameter))
            return false;
    }
    return true;
}

// The restriction as the user wrote it, for headings; NULL when there is none. What is kept of the whole trace is taken
// where there is none, so that it must not be missing for want of memory. Returns 0 or -ENOMEM.
static int read_restriction(const struct hs_arguments *arguments, char **restriction)
{
    size_t size = 0;
    *restriction = NULL;
    FILE *stream = open_memstream(restriction, &size);
    if (!stream)
        return -ENOMEM;
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_given *given = &arguments->given[i];
        if (given->option->kind == HS_OPTION_FILTER && counts(arguments, i))
            fprintf(stream, "%s%s %s", ftell(stream) > 0 ? ", " : "", given->option->name, given->text);
    }
    bool failed = ferror(stream);
    failed = fclose(stream) || failed;
    if (!failed && size)
        return 0;
    free(*restriction);
    *restriction = NULL;
    return failed ? -ENOMEM : 0;
}

static int make_filter(struct hs_opened *opened, const struct hs_arguments *arguments, struct hs_error *error)
{
    const char *least, *most;
    if (hs_filter_parameters__contradict(&arguments->filter, &least, &most))
        return hs_error__set(error, EINVAL, "%s is above %s: nothing can match; swap them", least, most);
    opened->scope = hs_filter_scope__create(opened->store, opened->subject.symbols, NULL);
    if (!opened->scope)
        return hs_error__set(error, ENOMEM, "%s: out of memory", opened->subject.path);
    return hs_filter_parameters__resolve(&arguments->filter, opened->scope, NULL, &opened->filter, error);
}

static int ask(struct hs_opened *opened, const struct hs_filter *filter, struct hs_error *error)
{
    struct hs_subject *subject = &opened->subject;
    const struct hs_summary *summary = hs_store__summary(opened->store);
    struct hs_progress progress;
    hs_progress__start(&progress, "adding up", false);
    struct hs_query_control control = {.progress = hs_progress__update, .context = &progress, .drops_pages = true};
    if (hs_ticks__are_asked(opened->store, filter)) {
        const int failed = hs_ticks__totals(subject->path, opened->store, filter, &control, &subject->totals, error);
        hs_progress__end(&progress);
        return failed;
    }
    int result = hs_query__totals(opened->store, filter, &control, &subject->totals, error);
    subject->peak = summary->peak;
    subject->peak_time = summary->peak_time;
    if (!result && subject->restriction)
        result = hs_query__peak(opened->store, filter, &control, &subject->peak, &subject->peak_time, error);
    hs_progress__end(&progress);
    return result;
}

static bool read_digest(struct hs_opened *opened)
{
    struct hs_subject *subject = &opened->subject;
    const struct hs_summary *summary = hs_store__summary(opened->store);
    opened->has_digest = hs_digest__read(&opened->digest, subject);
    if (!opened->has_digest)
        return false;
    subject->totals.sum = opened->digest.sum;
    subject->peak = summary->peak;
    subject->peak_time = summary->peak_time;
    return true;
}

static int open_trace(struct hs_opened *opened, const struct hs_arguments *arguments, bool for_text,
                      struct hs_error *error)
{
    int result = open_store(opened, opened->subject.path, error);
    opened->subject.store = opened->store;
    if (!result)
        result = open_symbols(opened, error);
    if (!result)
        result = make_filter(opened, arguments, error);
    opened->subject.filter = &opened->filter.filter;
    opened->subject.not_of_samples = hs_filter_parameters__not_of_samples(&arguments->filter);
    if (result || (for_text && read_digest(opened)))
        return result;
    return ask(opened, &opened->filter.filter, error);
}

static int open_either(struct hs_opened *opened, const struct hs_arguments *arguments, bool dump, bool for_text)
{
    struct hs_error error = {.message = ""};
    hs_torn_pages__mend();
    *opened = (struct hs_opened){.subject = {.path = arguments->operands[0]}};
    int result = read_restriction(arguments, &opened->restriction);
    opened->subject.restriction = opened->restriction;
    if (!result)
        result = hs_symbols_options__read(&opened->symbols_options, arguments);
    if (result)
        hs_error__set(&error, ENOMEM, "%s: out of memory", opened->subject.path);
    else if (dump)
        result = hs_opened__open_dump(opened, arguments, &error);
    else
        result = open_trace(opened, arguments, for_text, &error);
    if (!result)
        return 0;
    hs_complain(arguments->command, "%s", error.message);
    hs_opened__close(opened);
    return HS_EXIT_FAILURE;
}

static bool is_dump(const struct hs_arguments *arguments)
{
    const char *path = arguments->operands[0];
    return !hs_is_trace(path) && hs_dump__recognise(path);
}

int hs_opened__open(struct hs_opened *opened, const struct hs_arguments *arguments)
{
    return open_either(opened, arguments, is_dump(arguments), false);
}

int hs_opened__open_for_text(struct hs_opened *opened, const struct hs_arguments *arguments)
{
    return open_either(opened, arguments, is_dump(arguments), true);
}

int hs_opened__open_given(struct hs_opened *opened, const struct hs_arguments *arguments)
{
    return open_either(opened, arguments, true, false);
}

int hs_opened__cost(const struct hs_opened *opened, const struct hs_arguments *arguments, const char *option,
                    enum hs_cost *cost)
{
    const char *word = hs_arguments__text(arguments, option, NULL);
    *cost = word                     ? hs_cost__parse(word)
            : opened->dump           ? (opened->dump->lacks_live ? HS_COST_ALLOCATED : HS_COST_LIVE)
            : opened->subject.events ? HS_COST_ALLOCATED
                                     : HS_COST_PEAK;
    if (hs_subject__knows(&opened->subject, *cost))
        return 0;
    if (opened->subject.events) {
        hs_complain(arguments->command, "'%s' is not known for %s; --%s takes allocated%s", word,
                    hs_subject__events(&opened->subject)->words, option,
                    hs_subject__knows(&opened->subject, HS_COST_LIVE) ? " and live" : "");
        return HS_EXIT_USAGE;
    }
    if (*cost == HS_COST_ALLOCATED)
        hs_complain(arguments->command, "%s does not contain all allocations; write it with prof_accum:true",
                    opened->subject.path);
    else
        hs_complain(arguments->command, "%s is a heap dump, which does not contain '%s'; --%s takes %s%s%s",
                    opened->subject.path, word, option, opened->dump->lacks_live ? "" : "live",
                    opened->dump->lacks_live || !opened->dump->has_all ? "" : " and ",
                    opened->dump->has_all ? "allocated" : "");
    return HS_EXIT_USAGE;
}

int hs_opened__check(const struct hs_opened *opened, const struct hs_arguments *arguments)
{
    if (!hs_torn_pages__found())
        return 0;
    hs_complain(arguments->command, "%s: its store, or a file with symbols, was cut short while it was read; try again",
                opened->subject.path);
    return HS_EXIT_FAILURE;
}

void hs_opened__close(struct hs_opened *opened)
{
    hs_resolved_filter__free(&opened->filter);
    hs_filter_scope__destroy(opened->scope);
    hs_digest__free(&opened->digest);
    if (opened->dump) {
        hs_dump_view__close(&opened->view);
    } else {
        hs_totals__free(&opened->subject.totals);
        hs_trace_symbols__destroy(opened->subject.symbols);
    }
    if (opened->store)
        hs_store__close(opened->store);
    hs_dump__close(opened->dump);
    hs_symbols_options__free(&opened->symbols_options);
    free(opened->restriction);
    free(opened->threads);
    *opened = (struct hs_opened){0};
}
