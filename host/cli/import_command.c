// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/output.h"
#include "host/convert/convert.h"

static int import(const struct hs_arguments *arguments)
{
    const char *path = hs_arguments__text(arguments, "output", NULL);
    const char *input = arguments->operands[0];
    struct hs_output output;
    struct hs_error error = {.message = ""};
    if (!path || hs_output__is_standard(path)) {
        hs_complain(arguments->command, "needs -o FILE: a trace cannot be written to standard output");
        return HS_EXIT_USAGE;
    }
    if (hs_same_file(path, input)) {
        hs_complain(arguments->command, "%s is the input itself; choose another file with -o", path);
        return HS_EXIT_USAGE;
    }
    enum hs_foreign kind = hs_foreign__recognise(input);
    if (!kind) {
        hs_complain(arguments->command,
                    "%s is not a recording of heaptrack, memory-profiler or bytehound; heap dumps need no import: "
                    "report, export and diff read them directly",
                    input);
        return HS_EXIT_FAILURE;
    }
    int status = hs_output__open_trace(&output, arguments, path);
    if (status)
        return status;
    int result = hs_foreign__convert(input, kind, NULL, output.out, &error);
    if (result)
        hs_complain(arguments->command, "%s", error.message);
    status = hs_output__close(&output, arguments, !result);
    return result ? HS_EXIT_FAILURE : status;
}

static const struct hs_option options[] = {
    {.name = "output", .letter = 'o', .kind = HS_OPTION_FILE, .argument = "FILE", .help = "the trace to write"},
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_import = {
    .name = "import",
    .synopsis = "-o TRACE FILE",
    .summary = "convert a recording of another tool into a trace",
    .description =
        "Reads a recording of heaptrack (compressed or not), memory-profiler or bytehound, and writes a trace. report, "
        "export, diff, ask, top and server also read such files directly; a trace is faster if it is read more than "
        "once.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = import,
};
