// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/foreign.h"
#include "host/cli/output.h"
#include "host/convert/strip.h"
#include "host/report/text.h"

#include <sys/stat.h>

static void report_sizes(const char *from, const char *to, uint64_t left_out)
{
    struct stat before = {0}, after = {0};
    stat(from, &before);
    stat(to, &after);
    printf("%s: %s left out, their sums kept; %s of %s\n", to, hs_text__blocks(left_out).text,
           hs_text__bytes((uint64_t)after.st_size).text, hs_text__bytes((uint64_t)before.st_size).text);
}

static int write_stripped(const struct hs_arguments *arguments, const struct hs_store *store, const char *path)
{
    struct hs_output output;
    struct hs_error error = {.message = ""};
    struct hs_strip strip = {.shortest_ns = hs_arguments__number(arguments, "threshold", HS_NEVER)};
    int status = hs_output__open_trace(&output, arguments, path);
    if (status)
        return status;
    int result = hs_strip__write(arguments->operands[0], store, output.out, &strip, &error);
    if (result)
        hs_complain(arguments->command, "%s", error.message);
    status = hs_output__close(&output, arguments, !result);
    if (!result && !status)
        report_sizes(arguments->operands[0], path, strip.left_out);
    return result ? HS_EXIT_FAILURE : status;
}

static int strip(const struct hs_arguments *arguments)
{
    const char *path = hs_arguments__text(arguments, "output", NULL);
    struct hs_error error = {.message = ""};
    struct hs_store *store = NULL;
    if (!path || hs_output__is_standard(path)) {
        hs_complain(arguments->command, "needs -o FILE: a trace cannot be written to standard output");
        return HS_EXIT_USAGE;
    }
    if (hs_same_file(path, arguments->operands[0])) {
        hs_complain(arguments->command, "%s is the input itself; choose another file with -o", path);
        return HS_EXIT_USAGE;
    }
    if (hs_refuse_foreign(arguments->command, arguments->operands[0]))
        return HS_EXIT_FAILURE;
    if (hs_import__open(arguments->operands[0], NULL, &store, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    int status = HS_EXIT_FAILURE;
    if (hs_store__summary(store)->is_aggregate)
        hs_complain(arguments->command, "%s contains sums per stack, and no single blocks that could be left out",
                    arguments->operands[0]);
    else
        status = write_stripped(arguments, store, path);
    hs_store__close(store);
    return status;
}

static const struct hs_option options[] = {
    {.name = "output", .letter = 'o', .kind = HS_OPTION_FILE, .argument = "FILE", .help = "the trace to write"},
    {.name = "threshold",
     .letter = 't',
     .kind = HS_OPTION_DURATION,
     .argument = "TIME",
     .help = "leave out blocks that were freed within this time after their allocation, such as 1s; default all freed "
             "blocks"},
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_strip = {
    .name = "strip",
    .synopsis = "-o TRACE [-t TIME] TRACE",
    .summary = "make a trace smaller: leave out short-lived blocks",
    .description = "Copies the trace without the blocks that were freed soon. Their number and size per stack are "
                   "kept: report shows them as 'culled' and counts them as allocated. Peaks and live memory over time "
                   "are those of the remaining blocks.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = strip,
};
