// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/path.h"
#include "host/cli/commands.h"
#include "host/cli/one_page.h"
#include "host/cli/output.h"
#include "host/cli/progress.h"
#include "host/cli/subject.h"
#include "host/dump/write.h"
#include "host/export/export.h"
#include "host/query/event_totals.h"
#include "host/report/report.h"
#include "host/rest/transformed_subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_EXPORT (256u << 20)
#define PAGE        "html"
#define FORMATS     HS_EXPORT_CHOICES HS_DUMP_OUTPUT_CHOICES " " PAGE

// Endings of file names beside those of the table in host/export/export.h.
#define OTHER_ENDINGS(X)            X(".folded", "collapsed") X(".html", PAGE) X(".pb.gz", "pprof")
#define ENDING(ending, format)      {ending, format},
#define ENDING_WORD(ending, format) " " ending
#define ENDINGS                     HS_EXPORT_SUFFIXES "or" OTHER_ENDINGS(ENDING_WORD)

// NULL: neither --format nor the ending of the file's name says it.
static const char *format_of(const struct hs_arguments *arguments)
{
    static const char *const endings[][2] = {OTHER_ENDINGS(ENDING)};
    const char *path = hs_arguments__text(arguments, "output", "");
    const char *given = hs_arguments__text(arguments, "format", NULL);
    const struct hs_export_format *format = given ? NULL : hs_export_format__of_path(path);
    for (size_t i = 0; !given && i < sizeof(endings) / sizeof(endings[0]); i++)
        if (hs_path__ends_with(path, endings[i][0]))
            given = endings[i][1];
    return format ? format->name : given;
}

static int write_trace_as_dump(FILE *out, const struct hs_subject *subject, enum hs_dump_output format)
{
    struct hs_dump *dump = NULL;
    int result = hs_dump__of_trace(subject, &dump);
    if (!result)
        result = hs_dump__write(out, dump, format);
    hs_dump__close(dump);
    return result;
}

static int write_dump(FILE *out, struct hs_opened *opened, enum hs_dump_output format)
{
    struct hs_dump_choice choice = hs_opened__choice(opened);
    bool with_names = format == HS_DUMP_TO_PPROF || format == HS_DUMP_TO_SYMBOLIZED;
    int result = hs_dump__keep(opened->dump, &opened->view, &choice);
    if (!result && with_names)
        result = hs_dump__add_names(opened->dump, &opened->view, format == HS_DUMP_TO_SYMBOLIZED);
    return result ? result : hs_dump__write(out, opened->dump, format);
}

// Returns 0 or -ENOMEM.
static int write_format(FILE *out, struct hs_opened *opened, const char *word, const struct hs_export_options *options)
{
    enum hs_dump_output output;
    if (!hs_dump_output__parse(word, &output))
        return hs_export_format__find(word)->write(out, &opened->subject, options);
    return opened->dump ? write_dump(out, opened, output) : write_trace_as_dump(out, &opened->subject, output);
}

static int check_format(const struct hs_arguments *arguments, const struct hs_opened *opened, const char *word)
{
    enum hs_dump_output output;
    bool of_dumps = hs_dump_output__parse(word, &output);
    const char *obstacle = of_dumps && opened->dump ? hs_dump__obstacle(opened->dump, output) : NULL;
    if (of_dumps && !opened->dump && output != HS_DUMP_TO_PPROF && output != HS_DUMP_TO_SYMBOLIZED)
        obstacle = "it is a trace, whose modules may change over time; write pprof or symbolized, which contain names";
    const struct hs_export_format *format = of_dumps ? NULL : hs_export_format__find(word);
    if (format && format->of_blocks && opened->dump)
        obstacle =
            "it is a heap dump, which does not contain single blocks; give a trace, or write pprof or speedscope";
    if (format && format->of_blocks && !opened->dump && hs_store__summary(opened->store)->is_aggregate)
        obstacle = "it contains sums per stack and no single blocks; write pprof, speedscope or json";
    if (!obstacle)
        return 0;
    hs_complain(arguments->command, "%s cannot be written as %s: %s", opened->subject.path, word, obstacle);
    return HS_EXIT_FAILURE;
}

// Of all stacks together. 0 also if there is no memory to count them.
static uint64_t count_frames(const struct hs_subject *subject)
{
    size_t count = subject->symbols->node_count;
    uint32_t *depth = calloc(count + 1, sizeof(*depth));
    uint64_t sum = 0;
    for (size_t i = 0; depth && i < subject->totals.count; i++) {
        const uint32_t stack = subject->totals.total[i].stack;
        uint32_t known = stack, above = 0;
        for (; known && known < count && !depth[known]; known = hs_trace_symbols__parent(subject->symbols, known))
            above++;
        above += known < count ? depth[known] : 0;
        sum += above;
        for (uint32_t node = stack; node != known; node = hs_trace_symbols__parent(subject->symbols, node))
            depth[node] = above--;
    }
    free(depth);
    return sum;
}

// Said before it is written: such a file fills a disk, and hardly a reader opens it. Deep stacks of a recursion have
// most of their frames in common.
static void note_huge(const struct hs_arguments *arguments, const struct hs_opened *opened, const char *word)
{
    enum hs_dump_output output;
    const struct hs_export_format *format = hs_dump_output__parse(word, &output) ? NULL : hs_export_format__find(word);
    if (!format)
        return;
    const uint64_t rows = format->row_bytes ? opened->subject.totals.sum.allocated_count : 0;
    const uint64_t frames = format->frame_bytes ? count_frames(&opened->subject) : 0;
    const uint64_t of_rows = hs_export_format__bytes(format, rows);
    const uint64_t of_stacks = hs_export_format__stack_bytes(format, frames);
    uint64_t bytes;
    char what[160] = "";
    if (__builtin_add_overflow(of_rows, of_stacks, &bytes))
        bytes = UINT64_MAX;
    if (bytes < HUGE_EXPORT)
        return;
    if (rows)
        snprintf(what, sizeof(what), "%s%s", hs_subject__events(&opened->subject)->count(rows).text,
                 frames ? " and " : "");
    if (frames)
        snprintf(what + strlen(what), sizeof(what) - strlen(what), "stacks with %s frames in all",
                 hs_text__count(frames).text);
    hs_complain(arguments->command, "%s: %s make about %s of %s; %s are small; or use a filter", opened->subject.path,
                what, hs_text__bytes(bytes).text, word,
                of_rows >= of_stacks
                    ? "pprof, speedscope, collapsed and flamegraph contain only sums of each stack and"
                    : "pprof, flamegraph and heapprofile write what stacks have in common once or compress it, and");
}

static bool carries(const char *word, enum hs_events events)
{
    enum hs_dump_output output;
    if (hs_dump_output__parse(word, &output))
        return events == HS_EVENTS_HEAP || output == HS_DUMP_TO_PPROF;
    return hs_export_format__find(word)->events >> events & 1;
}

// Why these events cannot be written; NULL when they can.
static const char *obstacle_of(const struct hs_opened *opened, const struct hs_events_kind *kind, enum hs_events events,
                               const char *word, char *text, size_t size)
{
    const struct hs_subject *subject = &opened->subject;
    char formats[512], absence[128];
    if (!carries(word, events)) {
        hs_export_formats__list(events, formats, sizeof(formats));
        snprintf(text, size, "%s cannot be written as %s; give one of: pprof %s", kind->words, word, formats);
    } else if (opened->dump) {
        snprintf(text, size, "%s is a heap dump, which has no %s", subject->path, kind->words);
    } else if (hs_events__absence(events, opened->store, absence, sizeof(absence))) {
        snprintf(text, size, "%s %s", subject->path, absence);
    } else if (hs_events__are_samples(events) && subject->not_of_samples) {
        snprintf(text, size, "%s is a property of blocks, which samples do not have; leave it out",
                 subject->not_of_samples);
    } else {
        return NULL;
    }
    return text;
}

// In place of allocations.
static int take_events(const struct hs_arguments *arguments, struct hs_opened *opened)
{
    char text[1024];
    struct hs_error error;
    struct hs_totals totals;
    struct hs_subject *subject = &opened->subject;
    enum hs_events events = hs_events__parse(hs_arguments__text(arguments, "events", "heap"));
    const char *obstacle =
        obstacle_of(opened, hs_events_kind__of(events), events, format_of(arguments), text, sizeof(text));
    if (events == HS_EVENTS_HEAP)
        return 0;
    if (obstacle) {
        hs_complain(arguments->command, "%s", obstacle);
        return HS_EXIT_FAILURE;
    }
    opened->filter.filter = hs_events__filter(events, &opened->filter.filter);
    if (hs_query__event_totals(opened->store, events, subject->filter, NULL, &totals, &error)) {
        hs_complain(arguments->command, "%s: %s", subject->path, error.message);
        return HS_EXIT_FAILURE;
    }
    hs_totals__free(&subject->totals);
    subject->totals = totals;
    subject->events = events;
    return 0;
}

static bool has_one_cost(const char *word)
{
    enum hs_dump_output output;
    return !hs_dump_output__parse(word, &output) && !hs_export_format__find(word)->whole;
}

// Nothing at all may be the right answer, which no file shows by itself.
static void note_empty(const struct hs_arguments *arguments, const struct hs_opened *opened, enum hs_cost cost)
{
    const struct hs_subject *subject = &opened->subject;
    const struct hs_total *sum = &subject->totals.sum;
    const char *among = subject->restriction ? " that matches the filter" : "";
    bool other = hs_subject__bytes(subject, sum) || hs_cost__bytes(sum, HS_COST_PEAK);
    if (!subject->totals.count)
        hs_complain(arguments->command, "%s: the result is empty: there is no record of %s%s", subject->path,
                    hs_subject__events(subject)->words, among);
    else if (has_one_cost(format_of(arguments)) && !hs_cost__bytes(sum, cost) && !hs_cost__blocks(sum, cost) && other)
        hs_complain(arguments->command, "%s: the result is empty: nothing%s is %s; choose another --cost",
                    subject->path, among, hs_subject__title(subject, cost));
}

// No format has a place for it.
static void note_attached(const struct hs_arguments *arguments, const struct hs_opened *opened)
{
    char text[256];
    if (opened->store && hs_report__attached(opened->store, text, sizeof text))
        hs_complain(arguments->command, "%s: the recording began %s", opened->subject.path, text);
    for (size_t i = 0; opened->dump && i < opened->dump->warning_count; i++)
        hs_complain(arguments->command, "%s: %s", opened->subject.path, opened->dump->warning[i]);
}

static struct hs_transforms transforms_of(const struct hs_arguments *arguments)
{
    return (struct hs_transforms){.root_function = hs_arguments__text(arguments, "root-function", NULL),
                                  .merge_function = hs_arguments__text(arguments, "merge-function", NULL),
                                  .merge_library = hs_arguments__text(arguments, "merge-library", NULL),
                                  .collapse_function = hs_arguments__text(arguments, "collapse-function", NULL),
                                  .collapse_library = hs_arguments__text(arguments, "collapse-library", NULL),
                                  .collapse_recursion = hs_arguments__flag(arguments, "collapse-recursion")};
}

// Gives the subject other stacks, if options ask for that.
static int transform(const struct hs_arguments *arguments, struct hs_subject *subject,
                     const struct hs_transforms *transforms, struct hs_transformed_subject *transformed)
{
    struct hs_error error;
    const struct hs_export_format *format = hs_export_format__find(format_of(arguments));
    *transformed = (struct hs_transformed_subject){0};
    if (!hs_transforms__any(transforms))
        return 0;
    if (!format || format->of_blocks) {
        char formats[512], *text = hs_transforms__text(transforms);
        hs_export_formats__list_of_stacks(formats, sizeof(formats));
        hs_complain(arguments->command, "%s: %s contains unchanged stacks; leave this option out, or write one of: %s",
                    text ? text : "", format_of(arguments), formats);
        free(text);
        return HS_EXIT_FAILURE;
    }
    if (!hs_transformed_subject__make(transformed, subject, transforms, NULL, &error))
        return 0;
    hs_complain(arguments->command, "%s", error.message);
    return HS_EXIT_FAILURE;
}

static int write_file(const struct hs_arguments *arguments, struct hs_opened *opened, const char *path)
{
    const char *word = format_of(arguments);
    struct hs_output output;
    struct hs_export_options options = {.blocks = !strcmp(hs_arguments__text(arguments, "unit", "bytes"), "count")};
    int status = hs_opened__cost(opened, arguments, "cost", &options.cost);
    if (!status)
        status = hs_output__open(&output, arguments, path);
    if (status)
        return status;
    note_huge(arguments, opened, word);
    struct hs_progress progress;
    struct hs_query_control control = {.progress = hs_progress__update, .context = &progress, .drops_pages = true};
    options.control = &control;
    hs_progress__start(&progress, "writing", false);
    int result = write_format(output.out, opened, word, &options);
    hs_progress__end(&progress);
    if (result == -ENOMEM)
        hs_complain(arguments->command, "%s: out of memory; a narrower filter needs less", opened->subject.path);
    else if (result)
        hs_complain(arguments->command, "%s: cannot be written as %s: %s", opened->subject.path, word,
                    strerror(-result));
    int torn = result ? 0 : hs_opened__check(opened, arguments);
    if (!result && !torn) {
        note_empty(arguments, opened, options.cost);
        note_attached(arguments, opened);
    }
    status = hs_output__close(&output, arguments, !result && !torn);
    return result || torn ? HS_EXIT_FAILURE : status;
}

static int export_page(const struct hs_arguments *arguments, const char *path)
{
    static const char *const idle[] = {"cost",
                                       "events",
                                       "unit",
                                       "root-function",
                                       "merge-function",
                                       "merge-library",
                                       "collapse-function",
                                       "collapse-library",
                                       "collapse-recursion"};
    struct hs_output output;
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        if (!hs_arguments__given(arguments, idle[i]))
            continue;
        hs_complain(arguments->command, "--%s has no effect with --format " PAGE "; leave it out", idle[i]);
        return HS_EXIT_USAGE;
    }
    int status = hs_output__open(&output, arguments, path);
    if (status)
        return status;
    status = hs_write_page(arguments, NULL, output.out);
    const int closed = hs_output__close(&output, arguments, !status);
    return status ? status : closed;
}

static int write_export(const struct hs_arguments *arguments, struct hs_opened *opened, const char *path)
{
    const struct hs_transforms transforms = transforms_of(arguments);
    struct hs_transformed_subject transformed;
    int status = take_events(arguments, opened);
    if (!status)
        status = check_format(arguments, opened, format_of(arguments));
    const struct hs_subject before = opened->subject;
    if (!status)
        status = transform(arguments, &opened->subject, &transforms, &transformed);
    if (status)
        return status;
    status = write_file(arguments, opened, path);
    opened->subject = before;
    hs_transformed_subject__free(&transformed);
    return status;
}

static int export(const struct hs_arguments *arguments)
{
    struct hs_opened opened;
    const char *path = hs_arguments__text(arguments, "output", "-");
    if (!format_of(arguments)) {
        hs_complain(arguments->command,
                    "needs --format; give one of: " FORMATS "; or end the name after -o with one of: " ENDINGS);
        return HS_EXIT_USAGE;
    }
    if (hs_same_file(path, arguments->operands[0])) {
        hs_complain(arguments->command, "%s is the input itself; choose another file with -o", path);
        return HS_EXIT_USAGE;
    }
    if (!strcmp(format_of(arguments), PAGE))
        return export_page(arguments, path);
    int status = hs_opened__open(&opened, arguments);
    if (status)
        return status;
    status = write_export(arguments, &opened, path);
    if (!hs_output__is_standard(path))
        hs_trace_symbols__print_problems(opened.subject.symbols, stderr, 5);
    hs_opened__close(&opened);
    return status;
}

static const struct hs_option options[] = {
    {.name = "format",
     .kind = HS_OPTION_CHOICE,
     .argument = "FORMAT",
     .choices = FORMATS,
     .help = "what to write; without it, the end of the name of --output says it: " ENDINGS "; " HS_EXPORT_HELP
             "pprof: profile.proto for pprof and others; symbolized: heap_v2 with names, for jeprof; for heap dumps "
             "also heap_v2 and its older form heap_profile; html: the page of 'heapsonde server' with its answers, "
             "in one file"},
    HS_OUTPUT_OPTION,
    {.name = "cost",
     .letter = 'c',
     .kind = HS_OPTION_CHOICE,
     .argument = "COST",
     .choices = HS_COST_CHOICES,
     .help = "in formats with one number per stack, this number; default peak, for heap dumps live, or allocated if "
             "only that is known"},
    {.name = "events",
     .kind = HS_OPTION_CHOICE,
     .argument = "EVENTS",
     .choices = HS_EVENTS_CHOICES,
     .help =
         "what the numbers are: allocations, CPU time, time off the processor (both in nanoseconds), page faults, or "
         "touched memory; default heap"},
    {.name = "unit",
     .letter = 'u',
     .kind = HS_OPTION_CHOICE,
     .argument = "UNIT",
     .choices = "bytes count",
     .help = "bytes, or the number of blocks; default bytes"},
    {.name = "root-function",
     .kind = HS_OPTION_TEXT,
     .argument = "REGEX",
     .help = "begin stacks with the outermost function that matches; stacks without one are left out"},
    {.name = "merge-function",
     .kind = HS_OPTION_TEXT,
     .argument = "REGEX",
     .help = "leave out these functions; what they allocate themselves counts for their callers"},
    {.name = "merge-library",
     .kind = HS_OPTION_TEXT,
     .argument = "NAMES",
     .help = "the same for the functions of libraries; * and ? are wildcards; separate several names with commas"},
    {.name = "collapse-function",
     .kind = HS_OPTION_TEXT,
     .argument = "REGEX",
     .help = "leave out what these functions call; it counts for them"},
    {.name = "collapse-library",
     .kind = HS_OPTION_TEXT,
     .argument = "NAMES",
     .help = "if functions of such a library call each other, keep only the outermost one"},
    {.name = "collapse-recursion",
     .kind = HS_OPTION_FLAG,
     .help = "if a function is called again within its own call, leave out everything between the two calls; with this "
             "and the five options above, only formats without single blocks can be written"},
    HS_SUBJECT_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_export = {
    .name = "export",
    .synopsis = "[--format FORMAT] [OPTIONS] FILE",
    .summary = "write a trace or a heap dump as a flame graph or in another format",
    .description = "Reads a trace or a heap dump and writes it in another format. The flame graph is one SVG file "
                   "without external parts: open it in a browser, click to zoom, Ctrl-F to search.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = export,
};
