// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/baseline.h"
#include "host/cli/commands.h"
#include "host/cli/fail_if.h"
#include "host/cli/findings.h"
#include "host/cli/one_page.h"
#include "host/cli/subject.h"
#include "host/report/missing.h"
#include "host/report/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_OF_EACH 5
#define TOP_OF_ONE  10

static unsigned top(const struct hs_arguments *arguments)
{
    bool one = hs_arguments__flag(arguments, "sort") || hs_arguments__flag(arguments, "json");
    return (unsigned)hs_arguments__number(arguments, "top", one ? TOP_OF_ONE : TOP_OF_EACH);
}

// Whether it is the text report of no more than a digest has.
static bool can_do_with_digest(const struct hs_arguments *arguments)
{
    static const char *const others[] = {"json",    "tree",     "bottom-up", "full-stacks", "threads",
                                         "modules", "findings", "growth",    "baseline"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (hs_arguments__flag(arguments, others[i]))
            return false;
    }
    return top(arguments) <= HS_DIGEST_SITES;
}

static int write_report(const struct hs_arguments *arguments, const struct hs_opened *opened, enum hs_cost cost)
{
    const struct hs_subject *subject = &opened->subject;
    bool json = hs_arguments__flag(arguments, "json");
    bool one_cost = hs_arguments__flag(arguments, "sort");
    struct hs_report_options options = {
        .top = top(arguments),
        .one_cost = one_cost,
        .cost = cost,
        .full_stacks = hs_arguments__flag(arguments, "full-stacks"),
        .least_percent = hs_arguments__percent(arguments, "min-percent", 1),
        .inverted = hs_arguments__flag(arguments, "bottom-up"),
    };
    if (json)
        return hs_report__json(stdout, subject, &options);
    if (!hs_arguments__flag(arguments, "tree") && !options.inverted)
        return hs_report__text(stdout, subject, &options, opened->has_digest ? &opened->digest : NULL);
    int result = hs_report__tree(stdout, subject, &options);
    fflush(stdout);
    hs_trace_symbols__print_problems(subject->symbols, stderr, 5);
    return result;
}

// Returns the exit status.
static int write_findings(const struct hs_arguments *arguments, const struct hs_opened *opened,
                          const struct hs_suppressions *suppressions)
{
    struct hs_findings findings;
    struct hs_error error = {.message = ""};
    struct hs_json json;
    if (hs_opened__find(opened, suppressions, &findings, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    if (hs_arguments__flag(arguments, "json")) {
        hs_json__start(&json, stdout, true);
        hs_json__open_object(&json, NULL);
        hs_findings__json(&json, &findings);
        hs_json__close_object(&json);
        putchar('\n');
    } else {
        hs_findings__text(stdout, &findings, opened->subject.path);
    }
    hs_findings__free(&findings);
    return HS_EXIT_OK;
}

// Returns the exit status.
static int write_growth(const struct hs_arguments *arguments, const struct hs_opened *opened)
{
    struct hs_slopes growing;
    struct hs_error error = {.message = ""};
    struct hs_json json;
    if (hs_opened__find_growing(opened, hs_arguments__number(arguments, "top", TOP_OF_ONE), &growing, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    if (hs_arguments__flag(arguments, "json")) {
        hs_json__start(&json, stdout, true);
        hs_json__open_object(&json, NULL);
        hs_slopes__json(&json, &growing);
        hs_json__close_object(&json);
        putchar('\n');
    } else {
        hs_slopes__text(stdout, &growing);
    }
    hs_slopes__free(&growing);
    return HS_EXIT_OK;
}

static int make_thread_totals(struct hs_thread_totals *totals, const struct hs_opened *opened, struct hs_error *error)
{
    if (!opened->dump)
        return hs_thread_totals__make(totals, &opened->subject, error);
    const struct hs_dump_choice choice = hs_opened__choice(opened);
    *totals = (struct hs_thread_totals){.threads = opened->dump->thread_count, .are_known = true};
    totals->total = calloc(totals->threads + 1, sizeof(*totals->total));
    const int result = totals->total ? hs_dump_view__by_thread(&opened->view, &choice, totals->total) : -ENOMEM;
    return result ? hs_error__set(error, ENOMEM, "out of memory") : 0;
}

// Returns the exit status.
static int write_threads(const struct hs_arguments *arguments, const struct hs_opened *opened, enum hs_cost cost)
{
    struct hs_thread_totals totals;
    struct hs_error error = {.message = "out of memory"};
    struct hs_json json;
    int result = make_thread_totals(&totals, opened, &error);
    if (!result && hs_arguments__flag(arguments, "json")) {
        hs_json__start(&json, stdout, true);
        hs_json__open_object(&json, NULL);
        result = hs_report__threads_json(&json, &opened->subject, &totals, cost);
        hs_json__close_object(&json);
        putchar('\n');
    } else if (!result) {
        result = hs_report__threads(stdout, &opened->subject, &totals, cost);
    }
    hs_thread_totals__free(&totals);
    if (result)
        hs_complain(arguments->command, "%s: %s", opened->subject.path, error.message);
    return result ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

// Returns the exit status.
static int write_asked(const struct hs_arguments *arguments, struct hs_opened *opened,
                       const struct hs_suppressions *suppressions)
{
    enum hs_cost cost;
    int status = hs_opened__cost(opened, arguments, "sort", &cost);
    if (status)
        return status;
    int result = 0;
    if (hs_arguments__flag(arguments, "findings"))
        return write_findings(arguments, opened, suppressions);
    if (hs_arguments__flag(arguments, "growth"))
        return write_growth(arguments, opened);
    if (hs_arguments__flag(arguments, "threads"))
        return write_threads(arguments, opened, cost);
    if (hs_arguments__flag(arguments, "modules"))
        result = hs_report__modules(stdout, &opened->subject);
    else
        result = write_report(arguments, opened, cost);
    if (result)
        hs_complain(arguments->command, "%s: out of memory; give a smaller --top or a narrower filter",
                    opened->subject.path);
    return result ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

// The options that have no effect, for each form of a report. The first given form is written.
static const struct {
    const char *form, *idle[18];
} forms[] = {
    {"html",
     {"findings", "growth", "threads", "modules", "json", "tree", "bottom-up", "full-stacks", "min-percent", "top",
      "sort", "fail-if", "fail-if-missing", "annotate", "junit", "baseline", "tolerance", "slack"}},
    {"findings", {"growth", "threads", "modules", "tree", "bottom-up", "full-stacks", "min-percent", "top", "sort"}},
    {"growth", {"threads", "modules", "tree", "bottom-up", "full-stacks", "min-percent", "sort"}},
    {"threads", {"modules", "tree", "bottom-up", "full-stacks", "min-percent", "top"}},
    {"modules", {"json", "tree", "bottom-up", "full-stacks", "min-percent", "top"}},
    {"json", {"tree", "bottom-up", "full-stacks", "min-percent"}},
    {"tree", {"full-stacks", "top"}},
    {"bottom-up", {"full-stacks", "top"}},
    {NULL, {"min-percent"}},
};

static int refuse_idle(const struct hs_arguments *arguments)
{
    size_t i = 0;
    while (forms[i].form && !hs_arguments__flag(arguments, forms[i].form))
        i++;
    for (const char *const *idle = forms[i].idle; idle < forms[i].idle + 18 && *idle; idle++) {
        if (!hs_arguments__given(arguments, *idle))
            continue;
        if (forms[i].form)
            hs_complain(arguments->command, "--%s has no effect with --%s; leave one of them out", *idle,
                        forms[i].form);
        else
            hs_complain(arguments->command, "--%s needs --tree or --bottom-up", *idle);
        return HS_EXIT_USAGE;
    }
    return HS_EXIT_OK;
}

static int check(const struct hs_fail_if *fail_if, const struct hs_arguments *arguments, struct hs_opened *opened)
{
    struct hs_verdicts verdicts = {0};
    bool publishes = hs_arguments__flag(arguments, "junit") || hs_arguments__flag(arguments, "annotate");
    int status = hs_fail_if__check(fail_if, arguments, opened, publishes ? &verdicts : NULL);
    const int grew = hs_baseline__check(arguments, opened, &verdicts);
    const char *subject = opened->store ? hs_store__info(opened->store, "executable") : opened->subject.path;
    int published = publishes ? hs_verdicts__publish(&verdicts, arguments, subject ? subject : "", 0, 0) : 0;
    hs_verdicts__free(&verdicts);
    status = status ? status : grew;
    return status ? status : published;
}

static int write_and_check(const struct hs_arguments *arguments, const struct hs_fail_if *fail_if)
{
    struct hs_opened opened;
    int status = can_do_with_digest(arguments) ? hs_opened__open_for_text(&opened, arguments)
                                               : hs_opened__open(&opened, arguments);
    if (status)
        return status;
    status = write_asked(arguments, &opened, fail_if->suppressions);
    fflush(stdout);
    if (!status)
        status = hs_opened__check(&opened, arguments);
    if (!status)
        status = check(fail_if, arguments, &opened);
    hs_opened__close(&opened);
    return status;
}

static int report(const struct hs_arguments *arguments)
{
    struct hs_fail_if fail_if = {0};
    int status = refuse_idle(arguments);
    if (!status)
        status = hs_fail_if__read(&fail_if, arguments);
    if (!status)
        status = hs_baseline__look(arguments);
    if (!status)
        status = hs_arguments__flag(arguments, "html") ? hs_write_page(arguments, fail_if.suppressions, stdout)
                                                       : write_and_check(arguments, &fail_if);
    hs_fail_if__free(&fail_if);
    return status;
}

static const struct hs_option options[] = {
    {.name = "top",
     .letter = 'n',
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .help = "show this many call sites; default 5 of each kind, or 10 with --sort and --json"},
    {.name = "sort",
     .letter = 's',
     .kind = HS_OPTION_CHOICE,
     .argument = "COST",
     .choices = HS_COST_CHOICES,
     .help = "show only call sites by this cost; with --threads, the order of the threads"},
    {.name = "full-stacks", .help = "show whole stacks instead of their first frames"},
    {.name = "tree", .help = "show the call tree down to the allocations, with shares"},
    {.name = "bottom-up", .help = "show the functions that allocate, with their callers below them"},
    {.name = "min-percent",
     .kind = HS_OPTION_PERCENT,
     .argument = "PERCENT",
     .help = "leave out branches of the tree below this share; default 1"},
    {.name = "findings",
     .help = "say in sentences what looks wrong: memory that keeps growing, waste, holes, and missing data"},
    {.name = "growth", .help = "list the call sites whose memory still grows, the fastest first"},
    {.name = "html", .help = "write a page that is one file, for a browser without a server; at most 5 MiB"},
    {.name = "threads",
     .help = "list the threads with the memory that they allocated, by the cost of --sort; a block counts for the "
             "thread that allocated it, also if another one frees it"},
    {.name = "modules",
     .help =
         "list the modules in the stacks, the source of their symbols, and the files that would provide missing ones"},
    HS_FAIL_IF_OPTIONS,
    HS_BASELINE_OPTIONS,
    {.name = "json", .help = "write JSON, sizes in bytes, times in nanoseconds, frames innermost first"},
    HS_SUBJECT_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_report = {
    .name = "report",
    .synopsis = "[OPTIONS] FILE",
    .summary = "show where the memory of a recorded program went",
    .description = "Reads a trace and writes a summary and the most important call sites: by live memory at the peak, "
                   "live memory at the end, total allocations and temporary allocations. Frames of allocators are left "
                   "out; the first frame is the code that requested the memory. The imported trace is kept in the "
                   "folder FILE.store, or in ~/.cache/heapsonde if that cannot be written. Both can be "
                   "deleted.\n\nAlso reads heap dumps of samplers: jemalloc's heap_v2, "
                   "with or without names, the older 'heap profile:' of gperftools, pprof's profile.proto, "
                   "and collapsed stacks. Samples are scaled as in jeprof and pprof. For a file of Valgrind's massif, "
                   "it shows the snapshot of the peak; for a file of DHAT, the end.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = report,
};
