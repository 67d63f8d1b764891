// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/output.h"
#include "host/cli/subject.h"
#include "host/dump/write.h"

static int write_symbolized(const struct hs_arguments *arguments, struct hs_opened *opened, const char *path)
{
    struct hs_output output;
    if (hs_dump__add_names(opened->dump, &opened->view, true)) {
        hs_complain(arguments->command, "%s: out of memory", opened->subject.path);
        return HS_EXIT_FAILURE;
    }
    int status = hs_output__open(&output, arguments, path);
    if (status)
        return status;
    hs_dump__write(output.out, opened->dump, HS_DUMP_TO_SYMBOLIZED);
    return hs_output__close(&output, arguments, true);
}

static int symbolize(const struct hs_arguments *arguments)
{
    struct hs_opened opened;
    const char *path = hs_arguments__text(arguments, "output", "-");
    const char *input = arguments->operands[0];
    if (hs_same_file(path, input)) {
        hs_complain(arguments->command, "%s is the input itself; choose another file with -o", path);
        return HS_EXIT_USAGE;
    }
    if (hs_is_trace(input)) {
        hs_complain(arguments->command,
                    "%s is a trace; 'heapsonde export --format symbolized' converts it into a heap dump with names",
                    input);
        return HS_EXIT_FAILURE;
    }
    int status = hs_opened__open_given(&opened, arguments);
    if (status)
        return status;
    status = write_symbolized(arguments, &opened, path);
    for (size_t i = 0; i < opened.dump->warning_count; i++)
        hs_complain(arguments->command, "%s: %s", input, opened.dump->warning[i]);
    hs_trace_symbols__print_problems(opened.subject.symbols, stderr, 5);
    hs_opened__close(&opened);
    return status;
}

static const struct hs_option options[] = {
    HS_OUTPUT_OPTION,
    HS_SYMBOL_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_symbolize = {
    .name = "symbolize",
    .synopsis = "[OPTIONS] DUMP",
    .summary = "add the names of functions to a heap dump",
    .description =
        "Reads a heap dump of any kind and writes it as heap_v2 with a symbol table in front, including inlined calls. "
        "jeprof can read the result without the program and its libraries, on any machine: 'jeprof --text FILE'.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = symbolize,
};
