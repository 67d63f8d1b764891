// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/documents.h"

#include <string.h>

#define CONTROL_WORDS "list start stop dump status reset rate serve mark flush"

// Inside single quotes, with a backslash before each letter of `special`. zsh ends the quotes for a quote, fish escapes
// it.
static void quoted(FILE *out, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, out);
        else
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

static void for_zsh(FILE *out, const char *text)
{
    quoted(out, text, "\\[]:", "'\\''");
}

static void for_fish(FILE *out, const char *text)
{
    quoted(out, text, "\\", "\\'");
}

// ---- zsh -----------------------------------------------------------------------------------------------------------

// "*" where it may be repeated, else "(-o --output)": what excludes it. Then its names, what it is, and its values.
static void zsh_option(FILE *out, const struct hs_option *option)
{
    fputs("        '", out);
    if (option->repeatable)
        fputc('*', out);
    else if (option->letter)
        fprintf(out, "(-%c --%s)", option->letter, option->name);
    if (option->letter)
        fprintf(out, "'{-%c,--%s}'", option->letter, option->name);
    else
        fprintf(out, "--%s", option->name);
    fputc('[', out);
    for_zsh(out, option->help);
    fputc(']', out);
    if (option->kind != HS_OPTION_FLAG && !option->optional) {
        fputc(':', out);
        for_zsh(out, option->argument ? option->argument : "VALUE");
        fputc(':', out);
    }
    if (option->choices)
        fprintf(out, "(%s)", option->choices);
    else if (option->kind == HS_OPTION_FILE || option->kind == HS_OPTION_INPUT)
        fputs("_files", out);
    else if (option->kind == HS_OPTION_DIRECTORY)
        fputs("_files -/", out);
    fputs("' \\\n", out);
}

static void zsh_operands(FILE *out, const struct hs_command *command)
{
    switch (command->operand) {
    case HS_OPERAND_TRACE:
        fputs("        '*:trace:_files'\n", out);
        break;
    case HS_OPERAND_PROGRAM:
        fputs("        '*::program:_normal'\n", out);
        break;
    case HS_OPERAND_COMMAND:
        fputs("        '*:command:->subcommands'\n", out);
        break;
    case HS_OPERAND_CONTROL:
        fputs("        '*:request:(" CONTROL_WORDS ")'\n", out);
        break;
    case HS_OPERAND_PROCESS:
        fputs("        '*:process:_pids'\n", out);
        break;
    case HS_OPERAND_ACTION:
    case HS_OPERAND_NONE:
        fputs("        && return\n", out);
        break;
    }
}

void hs_documents__zsh_completion(FILE *out)
{
    fputs("#compdef heapsonde\n# SPDX-License-Identifier: MIT OR Apache-2.0\n_heapsonde()\n{\n"
          "    local state\n    local -a subcommands\n    subcommands=(\n",
          out);
    for (size_t i = 0; hs_commands[i]; i++) {
        fprintf(out, "        '%s:", hs_commands[i]->name);
        quoted(out, hs_commands[i]->summary, "\\", "'\\''");
        fputs("'\n", out);
    }
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command subcommands\n"
          "        compadd -- --help --version\n        return\n    fi\n"
          "    shift words\n    ((CURRENT--))\n    case $words[1] in\n",
          out);
    for (size_t i = 0; hs_commands[i]; i++) {
        fprintf(out, "    %s)\n        _arguments -s -S \\\n", hs_commands[i]->name);
        for (const struct hs_option *option = NULL; (option = hs_command__next(hs_commands[i], option));)
            zsh_option(out, option);
        fputs("        '(-h --help)'{-h,--help}'[show the help]' \\\n", out);
        zsh_operands(out, hs_commands[i]);
        fputs("        ;;\n", out);
    }
    fputs("    esac\n    [[ $state == subcommands ]] && _describe command subcommands\n}\n_heapsonde \"$@\"\n", out);
}

// ---- fish ----------------------------------------------------------------------------------------------------------

static void fish_begin(FILE *out, const struct hs_command *command)
{
    fprintf(out, "complete -c heapsonde -n '__fish_seen_subcommand_from %s'", command->name);
}

static void fish_option(FILE *out, const struct hs_command *command, const struct hs_option *option)
{
    fish_begin(out, command);
    fprintf(out, " -l %s", option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->choices)
        fprintf(out, " -x -a '%s'", option->choices);
    else if (option->kind == HS_OPTION_FILE || option->kind == HS_OPTION_INPUT)
        fputs(" -r -F", out);
    else if (option->kind == HS_OPTION_DIRECTORY)
        fputs(" -x -a '(__fish_complete_directories)'", out);
    else if (option->kind != HS_OPTION_FLAG && !option->optional)
        fputs(" -x", out);
    fputs(" -d '", out);
    for_fish(out, option->help);
    fputs("'\n", out);
}

static void fish_operands(FILE *out, const struct hs_command *command)
{
    if (command->operand == HS_OPERAND_NONE || command->operand == HS_OPERAND_ACTION)
        return;
    fish_begin(out, command);
    switch (command->operand) {
    case HS_OPERAND_COMMAND:
        fputs(" -a '", out);
        for (size_t i = 0; hs_commands[i]; i++)
            fprintf(out, "%s%s", i ? " " : "", hs_commands[i]->name);
        fputs("'\n", out);
        break;
    case HS_OPERAND_CONTROL:
        fputs(" -a '" CONTROL_WORDS "'\n", out);
        break;
    case HS_OPERAND_PROCESS:
        fputs(" -x -a '(__fish_complete_pids)'\n", out);
        break;
    case HS_OPERAND_PROGRAM:
        fputs(" -F -a '(__fish_complete_command)'\n", out);
        break;
    default:
        fputs(" -F\n", out);
        break;
    }
}

void hs_documents__fish_completion(FILE *out)
{
    fputs("# SPDX-License-Identifier: MIT OR Apache-2.0\ncomplete -c heapsonde -f\n"
          "complete -c heapsonde -n __fish_use_subcommand -l version -d 'print the version'\n"
          "complete -c heapsonde -s h -l help -d 'show the help'\n",
          out);
    for (size_t i = 0; hs_commands[i]; i++) {
        fprintf(out, "complete -c heapsonde -n __fish_use_subcommand -a %s -d '", hs_commands[i]->name);
        for_fish(out, hs_commands[i]->summary);
        fputs("'\n", out);
    }
    for (size_t i = 0; hs_commands[i]; i++) {
        for (const struct hs_option *option = NULL; (option = hs_command__next(hs_commands[i], option));)
            fish_option(out, hs_commands[i], option);
        fish_operands(out, hs_commands[i]);
    }
}
