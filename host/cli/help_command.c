// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/documents.h"

#include <string.h>

static int help(const struct hs_arguments *arguments)
{
    if (hs_arguments__flag(arguments, "man")) {
        hs_documents__man(stdout);
        return HS_EXIT_OK;
    }
    if (hs_arguments__flag(arguments, "completion")) {
        hs_documents__completion(stdout);
        return HS_EXIT_OK;
    }
    if (hs_arguments__flag(arguments, "zsh-completion")) {
        hs_documents__zsh_completion(stdout);
        return HS_EXIT_OK;
    }
    if (hs_arguments__flag(arguments, "fish-completion")) {
        hs_documents__fish_completion(stdout);
        return HS_EXIT_OK;
    }
    if (!arguments->operand_count) {
        hs_documents__overview(stdout);
        return HS_EXIT_OK;
    }
    if (!strcmp(arguments->operands[0], "variables")) {
        hs_documents__variables(stdout);
        return HS_EXIT_OK;
    }
    const struct hs_command *command = hs_command__find(arguments->operands[0]);
    if (!command) {
        hs_command__complain_unknown(arguments->command, arguments->operands[0]);
        return HS_EXIT_USAGE;
    }
    hs_documents__help(stdout, command);
    return HS_EXIT_OK;
}

static const struct hs_option options[] = {
    {.name = "man", .help = "print the manual page, for 'man -l -'"},
    {.name = "completion", .help = "print the completion script for bash, to be sourced"},
    {.name = "zsh-completion",
     .help = "print the completion script for zsh, to be saved as _heapsonde in a folder of fpath"},
    {.name = "fish-completion", .help = "print the completion script for fish, to be sourced"},
    {0},
};

const struct hs_command hs_command_help = {
    .name = "help",
    .synopsis = "[OPTIONS] [COMMAND | variables]",
    .summary = "explain a command, print the manual or the shell completion",
    .description = "Explains one command, or lists all of them. 'variables' lists the environment variables.",
    .operand = HS_OPERAND_COMMAND,
    .most_operands = 1,
    .options = options,
    .run = help,
};
