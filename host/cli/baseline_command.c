// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde baseline: writes what is in use at the end of a trace to a file that is kept with the sources. It has one
// line for each stack, with names instead of addresses, and is sorted, so that only changes show up as differences.
#include "host/base/text_stream.h"
#include "host/cli/commands.h"
#include "host/cli/output.h"
#include "host/cli/subject.h"
#include "host/dump/dump.h"
#include "host/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 64

struct baseline_command_line {
    const char *stack;
    uint64_t bytes;
};

static int by_stack(const void *a, const void *b)
{
    return strcmp(((const struct baseline_command_line *)a)->stack, ((const struct baseline_command_line *)b)->stack);
}

// Splits the folded text into lines. Stacks that differ only in source lines are equal here and are added up. Returns
// the number of lines.
static size_t take_lines(char *text, struct baseline_command_line *lines)
{
    size_t count = 0, kept = 0;
    char *rest = NULL;
    for (char *at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
        char *space = strrchr(at, ' ');
        if (!space)
            continue;
        *space = 0;
        lines[count++] = (struct baseline_command_line){at, strtoull(space + 1, NULL, 10)};
    }
    qsort(lines, count, sizeof(*lines), by_stack);
    for (size_t i = 0; i < count; i++) {
        if (kept && !strcmp(lines[kept - 1].stack, lines[i].stack))
            lines[kept - 1].bytes += lines[i].bytes;
        else
            lines[kept++] = lines[i];
    }
    return kept;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static int write_lines(FILE *out, char *text, uint64_t least)
{
    struct baseline_command_line *lines = calloc(count_lines(text) + 1, sizeof(*lines));
    if (!lines)
        return -ENOMEM;
    size_t count = take_lines(text, lines);
    fprintf(out, HS_DUMP_BASELINE_HEAD " bytes in use at the end, by stack; of %" PRIu64 " bytes and more\n", least);
    for (size_t i = 0; i < count; i++)
        if (lines[i].bytes >= least)
            fprintf(out, "%s %" PRIu64 "\n", lines[i].stack, lines[i].bytes);
    free(lines);
    return 0;
}

static int write_baseline(FILE *out, const struct hs_subject *subject, uint64_t least)
{
    const struct hs_export_options options = {.cost = HS_COST_LIVE};
    struct hs_text_stream stream;
    FILE *folded = hs_text_stream__open(&stream);
    int result = folded ? hs_export__collapsed(folded, subject, &options) : -ENOMEM;
    char *text = hs_text_stream__close(&stream);
    if (!text)
        result = -ENOMEM;
    if (!result)
        result = write_lines(out, text, least);
    free(text);
    return result;
}

static int run(const struct hs_arguments *arguments)
{
    struct hs_opened opened;
    struct hs_output output;
    int status = hs_opened__open(&opened, arguments);
    if (status)
        return status;
    if (!hs_subject__knows(&opened.subject, HS_COST_LIVE)) {
        hs_complain(arguments->command, "%s does not contain what is in use at the end", opened.subject.path);
        hs_opened__close(&opened);
        return HS_EXIT_FAILURE;
    }
    status = hs_output__open(&output, arguments, hs_arguments__text(arguments, "output", "-"));
    if (!status) {
        int result = write_baseline(output.out, &opened.subject, hs_arguments__number(arguments, "least", LEAST));
        status = hs_output__close(&output, arguments, !result);
        if (result)
            hs_complain(arguments->command, "%s: out of memory", opened.subject.path);
        status = result ? HS_EXIT_FAILURE : status;
    }
    if (!status)
        status = hs_opened__check(&opened, arguments);
    hs_opened__close(&opened);
    return status;
}

static const struct hs_option options[] = {
    HS_OUTPUT_OPTION,
    {.name = "least",
     .kind = HS_OPTION_SIZE,
     .argument = "SIZE",
     .help = "leave out stacks with less in use; default 64 bytes"},
    HS_SUBJECT_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_baseline = {
    .name = "baseline",
    .synopsis = "[OPTIONS] TRACE",
    .summary = "write what is in use at the end to a file for run --baseline",
    .description =
        "Writes what is in use at the end of a trace or heap dump, with one line for each stack: the functions from "
        "the "
        "outermost to the innermost, separated by ';', then a space and the bytes. The lines are sorted and contain no "
        "addresses, so the file changes only if the program does. Keep the file with the sources. 'heapsonde run "
        "--baseline FILE' fails if a call site has more than in the file.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = run,
};
