// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/fail_if.h"
#include "host/cli/output.h"
#include "host/cli/subject.h"
#include "host/dump/compare.h"
#include "host/dump/write.h"
#include "host/filter/given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TOP 10

// One of the two files.
struct diff_command_side {
    struct hs_dump *dump;
    struct hs_opened opened; // the trace that the dump was made of, or the dump of which only a part is wanted
    bool is_opened;
    bool is_trace;
    const char *path;
    bool is_base;
    char *chosen;            // the dump of a series
    bool is_instant;         // the dump is one of several in its file
    const char *option, *at; // the option that says when, and what it says; NULL: at the end
    char *title;             // what the dump is called; NULL: by its path
};

static int out_of_memory(const struct hs_arguments *arguments)
{
    hs_complain(arguments->command, "%s: out of memory", arguments->operands[0]);
    return HS_EXIT_FAILURE;
}

// ---- instants ------------------------------------------------------------------------------------------------------

static bool is_peak(const struct diff_command_side *side)
{
    return !strcmp(side->at, "peak");
}

// What was live at the instant takes the place of what is live at the end. Everything that matches was live then.
static void move_to_instant(struct hs_totals *totals, bool is_peak)
{
    for (size_t i = 0; i <= totals->count; i++) {
        struct hs_total *total = i < totals->count ? &totals->total[i] : &totals->sum;
        total->live_bytes = is_peak ? total->peak_bytes : total->allocated_bytes;
        total->live_usable = is_peak ? total->peak_usable : total->allocated_usable;
        total->live_count = is_peak ? total->peak_count : total->allocated_count;
    }
}

static bool has_base_range(const struct hs_arguments *arguments)
{
    return hs_arguments__given(arguments, "base-from") || hs_arguments__given(arguments, "base-to");
}

// A range of the base takes the place of the command's. Complains.
static int take_base_range(struct hs_filter_parameters *filter, const struct hs_arguments *arguments)
{
    static const char *const ends[][3] = {{"from", "base-from", "0%"}, {"to", "base-to", "100%"}};
    struct hs_filter_parameters range;
    struct hs_error error = {.message = ""};
    int result = 0;
    hs_filter_parameters__init(&range, HS_TIME_UNIT_START);
    for (size_t i = 0; i < 2 && !result; i++) {
        const char *text = hs_arguments__text(arguments, ends[i][1], ends[i][2]);
        result = hs_filter_parameters__take(&range, ends[i][0], text, &error) != HS_PARAMETER_TAKEN;
        if (result)
            hs_complain(arguments->command, "--%s %s: %s", ends[i][1], text, error.message);
    }
    if (!result && hs_filter_parameters__add(filter, &range, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        result = -1;
    }
    hs_filter_parameters__free(&range);
    return result;
}

// The filter of the command, and that the blocks were live at the instant.
static int take_filter(struct hs_filter_parameters *filter, const struct diff_command_side *side,
                       const struct hs_arguments *arguments)
{
    struct hs_error error = {.message = ""};
    hs_filter_parameters__init(filter, HS_TIME_UNIT_START);
    int result = hs_filter_parameters__add(filter, &arguments->filter, &error);
    if (!result && side->is_base && has_base_range(arguments) && take_base_range(filter, arguments)) {
        hs_filter_parameters__free(filter);
        return HS_EXIT_USAGE;
    }
    if (!result && side->at && !side->is_instant && !is_peak(side) &&
        hs_filter_parameters__take(filter, "alive_at", side->at, &error) != HS_PARAMETER_TAKEN)
        result = -1;
    if (!result)
        return HS_EXIT_OK;
    hs_complain(arguments->command, "--%s %s: %s", side->option, side->at ? side->at : "", error.message);
    hs_filter_parameters__free(filter);
    return HS_EXIT_USAGE;
}

static void name_side(struct diff_command_side *side, const struct hs_filter_parameters *filter, bool has_range)
{
    const struct hs_given_parameter *from = hs_given_parameter__find(filter, HS_PARAMETER_FROM);
    const struct hs_given_parameter *to = hs_given_parameter__find(filter, HS_PARAMETER_TO);
    int named = -1;
    if (side->at)
        named = asprintf(&side->title, "%s at %s", side->path, side->at);
    else if (has_range && (from || to))
        named =
            asprintf(&side->title, "%s from %s to %s", side->path, from ? from->text : "0%", to ? to->text : "100%");
    if (named >= 0)
        side->dump->name = side->title;
}

// ---- sides ---------------------------------------------------------------------------------------------------------

static int open_trace(struct diff_command_side *side, const struct hs_arguments *arguments)
{
    int status = hs_opened__open(&side->opened, arguments);
    if (status)
        return status;
    side->is_opened = side->is_trace = true;
    if (side->at)
        move_to_instant(&side->opened.subject.totals, is_peak(side));
    return hs_dump__of_trace(&side->opened.subject, &side->dump) ? out_of_memory(arguments) : HS_EXIT_OK;
}

static int open_dump(struct diff_command_side *side, const struct hs_arguments *arguments)
{
    if (hs_filter_parameters__are_empty(&arguments->filter))
        return hs_open_dump(&side->dump, arguments, arguments->operands[0]);
    int status = hs_opened__open_given(&side->opened, arguments);
    if (status)
        return status;
    side->is_opened = true;
    side->dump = side->opened.dump;
    struct hs_dump_choice choice = hs_opened__choice(&side->opened);
    return hs_dump__keep(side->dump, &side->opened.view, &choice) ? out_of_memory(arguments) : HS_EXIT_OK;
}

// An instant of a series of dumps is one of them.
static int choose_dump(struct diff_command_side *side, struct hs_arguments *arguments)
{
    struct hs_error error = {.message = ""};
    const int failed = hs_dump_of_series(side->path, side->at, &side->chosen, &arguments->part, &error);
    if (failed == -EINVAL) {
        hs_complain(arguments->command, "--%s %s: %s", side->option, side->at, error.message);
        return HS_EXIT_USAGE;
    }
    if (failed) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    side->path = side->chosen;
    side->is_instant = arguments->part != HS_DUMP_USUAL;
    side->at = side->is_instant ? side->at : NULL;
    return HS_EXIT_OK;
}

// Two files of several dumps without times are compared as a report shows them.
static bool is_chosen(const struct diff_command_side *side, const struct hs_arguments *arguments)
{
    struct stat status;
    const bool is_asked = side->at || arguments->operand_count == 1;
    return hs_is_series(side->path) && (is_asked || (!stat(side->path, &status) && S_ISDIR(status.st_mode)));
}

// With one operand, both sides are this trace, or of this series of dumps.
static int open_side(struct diff_command_side *side, const struct hs_arguments *arguments, int which)
{
    struct hs_arguments one = *arguments;
    one.operands = arguments->operands + (which < arguments->operand_count ? which : 0);
    one.operand_count = 1;
    side->path = one.operands[0];
    side->is_base = !which;
    side->option = which ? "at" : "base-at";
    side->at = hs_arguments__text(arguments, side->option, NULL);
    int status = is_chosen(side, arguments) ? choose_dump(side, &one) : HS_EXIT_OK;
    if (status)
        return status;
    if (side->chosen)
        one.operands = &side->chosen;
    const bool is_trace = hs_is_trace(side->path);
    if (!is_trace && side->at && !side->is_instant) {
        hs_complain(arguments->command, "--%s: %s is a heap dump, which shows one instant only", side->option,
                    side->path);
        return HS_EXIT_USAGE;
    }
    if (!is_trace && side->is_base && has_base_range(arguments)) {
        hs_complain(arguments->command,
                    "--base-from and --base-to: %s is a heap dump, which does not contain single blocks", side->path);
        return HS_EXIT_USAGE;
    }
    status = take_filter(&one.filter, side, arguments);
    if (status)
        return status;
    status = is_trace ? open_trace(side, &one) : open_dump(side, &one);
    if (!status)
        name_side(side, &one.filter, has_base_range(arguments));
    hs_filter_parameters__free(&one.filter);
    return status;
}

static void close_side(struct diff_command_side *side)
{
    if (!side->is_opened || side->is_trace)
        hs_dump__close(side->dump);
    if (side->is_opened)
        hs_opened__close(&side->opened);
    free(side->title);
    free(side->chosen);
}

// Compares what is in use, unless only allocated totals are known.
static enum hs_cost usual_cost(struct hs_dump *const *dumps)
{
    return dumps[0]->lacks_live || dumps[1]->lacks_live ? HS_COST_ALLOCATED : HS_COST_LIVE;
}

static int check_cost(const struct hs_arguments *arguments, struct hs_dump *const *dumps, enum hs_cost cost)
{
    for (int i = 0; i < 2 && cost == HS_COST_LIVE; i++) {
        if (!dumps[i]->lacks_live)
            continue;
        hs_complain(arguments->command, "%s does not contain memory in use; compare with --cost allocated",
                    dumps[i]->name);
        return HS_EXIT_USAGE;
    }
    for (int i = 0; i < 2 && cost == HS_COST_ALLOCATED; i++) {
        if (dumps[i]->has_all)
            continue;
        hs_complain(arguments->command, "%s does not contain all allocations; write it with prof_accum:true",
                    dumps[i]->name);
        return HS_EXIT_USAGE;
    }
    return HS_EXIT_OK;
}

static int write_comparison(FILE *out, const struct hs_arguments *arguments, const struct hs_dump_view *view,
                            enum hs_cost cost)
{
    const char *format = hs_arguments__text(arguments, "format", "text");
    struct hs_compare_options options = {.cost = cost,
                                         .top = (unsigned)hs_arguments__number(arguments, "top", TOP),
                                         .full_stacks = hs_arguments__flag(arguments, "full-stacks"),
                                         .by_line = !strcmp(hs_arguments__text(arguments, "by", "function"), "line"),
                                         .least_percent = hs_arguments__percent(arguments, "min-percent", 0.1)};
    if (hs_arguments__flag(arguments, "tree"))
        return hs_compare__tree(out, view, &options);
    if (!strcmp(format, "json"))
        return hs_compare__json(out, view, &options);
    if (!strcmp(format, "collapsed"))
        return hs_compare__collapsed(out, view, &options);
    return hs_compare__text(out, view, &options);
}

static int check_scope(const struct hs_fail_if *fail_if, const struct hs_arguments *arguments,
                       struct hs_opened *difference)
{
    struct hs_verdicts verdicts = {0};
    difference->scope = hs_filter_scope__create(difference->subject.store, difference->subject.symbols, NULL);
    if (!difference->scope) {
        hs_complain(arguments->command, "--fail-if: out of memory");
        return HS_EXIT_FAILURE;
    }
    int status = hs_fail_if__check(fail_if, arguments, difference, &verdicts);
    int published = hs_verdicts__publish(&verdicts, arguments, difference->subject.path, 0, 0);
    hs_verdicts__free(&verdicts);
    hs_filter_scope__destroy(difference->scope);
    return status ? status : published;
}

static int check_conditions(const struct hs_fail_if *fail_if, const struct hs_arguments *arguments,
                            const struct hs_dump_view *view, enum hs_cost cost)
{
    struct hs_opened difference = {.subject = view->subject, .is_difference = true, .difference_cost = cost};
    char *path = NULL;
    if (!fail_if->count && !hs_arguments__given(arguments, "junit"))
        return HS_EXIT_OK;
    if (asprintf(&path, "%s - %s", view->dumps[1]->name, view->dumps[0]->name) < 0)
        return HS_EXIT_FAILURE;
    difference.subject.path = path;
    int status = check_scope(fail_if, arguments, &difference);
    free(path);
    return status;
}

static int compare(const struct hs_arguments *arguments, struct hs_dump *const *dumps, enum hs_cost cost,
                   const struct hs_fail_if *fail_if)
{
    struct hs_dump_view view = {0};
    struct hs_symbols_options options;
    struct hs_output output;
    int result = hs_symbols_options__read(&options, arguments);
    if (!result)
        result = hs_dump_view__open(&view, dumps[0], dumps[1], &options);
    if (!result)
        result = hs_dump_view__compare(&view);
    int status = result ? 0 : hs_output__open(&output, arguments, hs_arguments__text(arguments, "output", "-"));
    if (!result && !status) {
        result = write_comparison(output.out, arguments, &view, cost);
        status = hs_output__close(&output, arguments, !result);
    }
    if (result)
        hs_complain(arguments->command, "%s: out of memory", dumps[1]->name);
    if (!result && !status)
        hs_trace_symbols__print_problems(view.subject.symbols, stderr, 5);
    if (!result && !status)
        status = check_conditions(fail_if, arguments, &view, cost);
    hs_dump_view__close(&view);
    hs_symbols_options__free(&options);
    return result ? HS_EXIT_FAILURE : status;
}

// What would have no effect, or what is missing.
static int check_options(const struct hs_arguments *arguments)
{
    const bool instants = hs_arguments__given(arguments, "at") || hs_arguments__given(arguments, "base-at");
    const char *format = hs_arguments__text(arguments, "format", "text");
    const char *problem = NULL;
    if (arguments->operand_count < 2 && !instants && !has_base_range(arguments))
        problem = "needs two files (heapsonde diff [OPTIONS] BEFORE AFTER), or --at or --base-at for two instants of "
                  "one trace, or --base-from or --base-to for two ranges";
    else if (instants && !strcmp(hs_arguments__text(arguments, "cost", "live"), "allocated"))
        problem = "--at and --base-at compare memory in use; leave out --cost allocated";
    else if (hs_arguments__flag(arguments, "tree") && strcmp(format, "text") != 0)
        problem = "--tree is text; leave out --format";
    else if (hs_arguments__flag(arguments, "tree") &&
             (hs_arguments__given(arguments, "top") || hs_arguments__flag(arguments, "full-stacks")))
        problem = "--top and --full-stacks have no effect with --tree; leave one of them out";
    else if (hs_arguments__given(arguments, "min-percent") && !hs_arguments__flag(arguments, "tree"))
        problem = "--min-percent needs --tree";
    else if (hs_arguments__given(arguments, "by") && !hs_arguments__flag(arguments, "tree"))
        problem = "--by needs --tree";
    if (!problem)
        return HS_EXIT_OK;
    hs_complain(arguments->command, "%s", problem);
    return HS_EXIT_USAGE;
}

static int check_output(const struct hs_arguments *arguments)
{
    const char *path = hs_arguments__text(arguments, "output", "-");
    for (int i = 0; i < arguments->operand_count && !hs_output__is_standard(path); i++) {
        if (!hs_same_file(path, arguments->operands[i]))
            continue;
        hs_complain(arguments->command, "%s is the input itself; choose another file with -o", path);
        return HS_EXIT_USAGE;
    }
    return HS_EXIT_OK;
}

static int diff(const struct hs_arguments *arguments)
{
    struct diff_command_side sides[2] = {0};
    struct hs_fail_if fail_if = {0};
    int status = check_options(arguments);
    if (!status)
        status = hs_fail_if__read(&fail_if, arguments);
    if (!status)
        status = check_output(arguments);
    if (!status)
        status = open_side(&sides[0], arguments, 0);
    if (!status)
        status = open_side(&sides[1], arguments, 1);
    struct hs_dump *const dumps[2] = {sides[0].dump, sides[1].dump};
    const char *word = hs_arguments__text(arguments, "cost", NULL);
    enum hs_cost cost = word ? hs_cost__parse(word) : status ? HS_COST_LIVE : usual_cost(dumps);
    if (!status)
        status = check_cost(arguments, dumps, cost);
    if (!status)
        status = compare(arguments, dumps, cost, &fail_if);
    for (int i = 0; i < 2 && !status; i++)
        status = sides[i].is_opened ? hs_opened__check(&sides[i].opened, arguments) : 0;
    close_side(&sides[0]);
    close_side(&sides[1]);
    hs_fail_if__free(&fail_if);
    return status;
}

static const struct hs_option options[] = {
    {.name = "format",
     .kind = HS_OPTION_CHOICE,
     .argument = "FORMAT",
     .choices = "text json collapsed",
     .help = "what to write; default text; collapsed: one line per stack with the bytes before and after"},
    HS_OUTPUT_OPTION,
    {.name = "cost",
     .letter = 'c',
     .kind = HS_OPTION_CHOICE,
     .argument = "COST",
     .choices = "live allocated",
     .help = "compare memory in use, or all memory that was allocated; default live, if known"},
    {.name = "top",
     .letter = 'n',
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .help = "show this many call sites that grew, and as many that shrank; default 10"},
    {.name = "at",
     .kind = HS_OPTION_TEXT,
     .argument = "TIME",
     .help = "if AFTER is a trace, compare the memory that was live at this time, such as 12s, 50% or peak; default "
             "its end"},
    {.name = "base-at",
     .kind = HS_OPTION_TEXT,
     .argument = "TIME",
     .help = "the same for BEFORE; with one file, both are this trace"},
    {.name = "base-from",
     .kind = HS_OPTION_TEXT,
     .argument = "TIME",
     .help = "BEFORE is the blocks that were allocated at this time or later; --from and --to are then for AFTER only, "
             "else for both; with one file, both are this trace"},
    {.name = "base-to",
     .kind = HS_OPTION_TEXT,
     .argument = "TIME",
     .help = "BEFORE is the blocks that were allocated at this time or earlier"},
    {.name = "tree", .help = "show the changes as a tree of functions, from callers down to callees"},
    {.name = "by",
     .kind = HS_OPTION_CHOICE,
     .argument = "PART",
     .choices = "function line",
     .help = "the rows of the tree are functions, or lines of functions; default function"},
    {.name = "min-percent",
     .kind = HS_OPTION_PERCENT,
     .argument = "PERCENT",
     .help = "leave out branches of the tree below this share of all changes; default 0.1"},
    {.name = "full-stacks", .help = "show whole stacks instead of their first frames"},
    HS_CONDITION_OPTIONS_LIKE("'grown_bytes(function=~\"cache\") > 64K'"),
    HS_SUBJECT_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_diff = {
    .name = "diff",
    .synopsis = "[OPTIONS] BEFORE [AFTER]",
    .summary = "compare two heap dumps, traces, or instants or ranges of one trace",
    .description = "Compares two heap dumps, which may be of different formats, runs and machines. A frame is "
                   "identified by its module (build id, or file name) and its offset in the module, not by its "
                   "address; in another build of a file, by the names of its function and of the file. For a trace, "
                   "memory in use is memory that is live at its end, or at the time that --at or "
                   "--base-at gives. A folder of dumps of one process, a file of massif and a file of DHAT have "
                   "several instants, too.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 2,
    .options = options,
    .run = diff,
};
