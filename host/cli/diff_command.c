// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/output.h"
#include "host/cli/subject.h"
#include "host/dump/compare.h"
#include "host/dump/write.h"

#include <string.h>

#define TOP 10

// One of the two files.
struct diff_command_side {
    struct hs_dump *dump;
    struct hs_opened opened; // the trace that the dump was made of, or the dump of which only a part is wanted
    bool is_opened;
    bool is_trace;
};

static int out_of_memory(const struct hs_arguments *arguments)
{
    hs_complain(arguments->command, "%s: out of memory", arguments->operands[0]);
    return HS_EXIT_FAILURE;
}

static int open_trace(struct diff_command_side *side, const struct hs_arguments *arguments)
{
    int status = hs_opened__open(&side->opened, arguments);
    if (status)
        return status;
    side->is_opened = side->is_trace = true;
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

static int open_side(struct diff_command_side *side, const struct hs_arguments *arguments, int which)
{
    struct hs_arguments one = *arguments;
    one.operands = arguments->operands + which;
    one.operand_count = 1;
    return hs_is_trace(one.operands[0]) ? open_trace(side, &one) : open_dump(side, &one);
}

static void close_side(struct diff_command_side *side)
{
    if (!side->is_opened || side->is_trace)
        hs_dump__close(side->dump);
    if (side->is_opened)
        hs_opened__close(&side->opened);
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
                                         .full_stacks = hs_arguments__flag(arguments, "full-stacks")};
    if (!strcmp(format, "json"))
        return hs_compare__json(out, view, &options);
    if (!strcmp(format, "collapsed"))
        return hs_compare__collapsed(out, view, &options);
    return hs_compare__text(out, view, &options);
}

static int compare(const struct hs_arguments *arguments, struct hs_dump *const *dumps, enum hs_cost cost)
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
    hs_dump_view__close(&view);
    hs_symbols_options__free(&options);
    return result ? HS_EXIT_FAILURE : status;
}

static int check_output(const struct hs_arguments *arguments)
{
    const char *path = hs_arguments__text(arguments, "output", "-");
    for (int i = 0; i < 2 && !hs_output__is_standard(path); i++) {
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
    int status = check_output(arguments);
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
        status = compare(arguments, dumps, cost);
    for (int i = 0; i < 2 && !status; i++)
        status = sides[i].is_opened ? hs_opened__check(&sides[i].opened, arguments) : 0;
    close_side(&sides[0]);
    close_side(&sides[1]);
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
    {.name = "full-stacks", .help = "show whole stacks instead of their first frames"},
    HS_SUBJECT_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_diff = {
    .name = "diff",
    .synopsis = "[OPTIONS] BEFORE AFTER",
    .summary = "compare two heap dumps or traces",
    .description = "Compares two heap dumps, which may be of different formats, runs and machines. A frame is "
                   "identified by its module (build id, or file name) and its offset in the module, not by its "
                   "address. For a trace, memory in use is memory that is live at its end.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 2,
    .most_operands = 2,
    .options = options,
    .run = diff,
};
