// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/documents.h"

#include "host/cli/variables.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define COLUMNS     96
#define HELP_COLUMN 28

static const char tagline[] =
    "shows where a program's memory went: which call stacks allocated it, when, for how long, and what is still live";

static const char filter_values[] =
    "TIME is a time since the start of the recording (2, 1.5s, 300ms, 1h2m), a part of its runtime (10%) or, with "
    "--time-unit, a time since 1970. INTERVAL is a length of time (2s, 300ms, 4h3m2s), for groups also a part of the "
    "runtime. SIZE is 4096, 64K or 1.5M; ADDRESS 140737488355328 or 0x7fff00000000. A group is all allocations of the "
    "trace that have the same stack. Names may have _ in place of -.";

// Writes `text` from column `at`, broken at spaces, with later lines indented to `indent`.
static void wrap(FILE *out, const char *text, int at, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (at > indent && at + length > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        fprintf(out, "%.*s", length, text);
        at += length;
        text += length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            text++;
        } else if (*text == ' ') {
            if (at + 1 + (int)strcspn(text + 1, " \n") <= COLUMNS)
                fputc(' ', out);
            at++;
            text++;
        }
    }
    fputc('\n', out);
}

void hs_documents__overview(FILE *out)
{
    fputs("heapsonde ", out);
    wrap(out, tagline, 10, 0);
    fputs("\nUsage: heapsonde COMMAND [OPTIONS] ...\n\nCommands:\n", out);
    for (size_t i = 0; hs_commands[i]; i++)
        fprintf(out, "  %-10s %s\n", hs_commands[i]->name, hs_commands[i]->summary);
    fputs("\n'heapsonde COMMAND --help' explains a command; 'heapsonde --version' prints the version.\n"
          "To begin: heapsonde run -- PROGRAM ARGUMENTS\n",
          out);
}

static void print_option(FILE *out, char letter, const char *name, bool optional, const char *argument,
                         const char *help, const char *choices, bool repeatable)
{
    char left[64];
    char letters[8] = "    ";
    if (letter)
        snprintf(letters, sizeof(letters), "-%c, ", letter);
    int used = snprintf(left, sizeof(left), "  %s--%s%s%s%s", letters, name,
                        !argument  ? ""
                        : optional ? "[="
                                   : " ",
                        argument ? argument : "", optional ? "]" : "");
    fputs(left, out);
    if (used + 2 > HELP_COLUMN) {
        fputc('\n', out);
        used = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - used, "");
    char text[4096];
    snprintf(text, sizeof(text), "%s%s%s%s", help, choices ? "; one of: " : "", choices ? choices : "",
             repeatable ? " (may be given several times)" : "");
    wrap(out, text, HELP_COLUMN, HELP_COLUMN);
}

static bool takes_filters(const struct hs_command *command)
{
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));) {
        if (option->kind == HS_OPTION_FILTER)
            return true;
    }
    return false;
}

static void print_options(FILE *out, const struct hs_command *command, bool filters)
{
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));) {
        if ((option->kind == HS_OPTION_FILTER) == filters)
            print_option(out, option->letter, option->name, option->optional, option->argument, option->help,
                         option->choices, option->repeatable);
    }
}

void hs_documents__help(FILE *out, const struct hs_command *command)
{
    fprintf(out, "heapsonde %s: %s\n\nUsage: heapsonde %s %s\n\n", command->name, command->summary, command->name,
            command->synopsis);
    wrap(out, command->description, 0, 0);
    fputs("\nOptions:\n", out);
    print_options(out, command, false);
    print_option(out, 'h', "help", false, NULL, "show this text", NULL, false);
    if (!takes_filters(command))
        return;
    fputs("\nFilters (if several are given, all have to match):\n", out);
    print_options(out, command, true);
    fputc('\n', out);
    wrap(out, filter_values, 0, 0);
}

// ---- variables -----------------------------------------------------------------------------------------------------

static const char *option_of_variable(const char *name)
{
    for (const struct hs_option *option = hs_command__find("run")->options; option->name; option++)
        if (option->variable && !strcmp(option->variable, name))
            return option->name;
    return NULL;
}

static void print_variable(FILE *out, const struct hs_variable *variable)
{
    char text[1024], value[128], limits[64] = "";
    size_t length =
        (size_t)snprintf(value, sizeof(value), "%s", variable->argument ? variable->argument : variable->values);
    for (char *at = value; !variable->argument && at < value + length; at++)
        *at = *at == ' ' ? (variable->kind == HS_VARIABLE_LIST ? ',' : '|') : *at;
    const char *option = variable->reader == HS_READER_RECORDER ? option_of_variable(variable->name) : NULL;
    if (variable->highest)
        snprintf(limits, sizeof(limits), ", from %" PRIu64 " to %" PRIu64, variable->lowest, variable->highest);
    snprintf(text, sizeof(text), "`HEAPSONDE_%s=%s`: %s%s%s%s%s", variable->name, value, variable->help, limits,
             option ? " (`run --" : "", option ? option : "", option ? "`)" : "");
    fputs("- ", out);
    wrap(out, text, 2, 2);
}

static void print_variables(FILE *out, enum hs_variable_reader reader)
{
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        if (variable->reader == reader && variable->kind != HS_VARIABLE_NO_EFFECT)
            print_variable(out, variable);
}

void hs_documents__variables(FILE *out)
{
    fputs("# Variables\n\n", out);
    wrap(out,
         "The recording library reads these environment variables. Every name also works with the prefix "
         "`MEMORY_PROFILER_`; if both are set, the one with `HEAPSONDE_` is used. An empty value counts as not set. "
         "`heapsonde run` refuses other names and values. Without `run`, the library prints a message on standard "
         "error for a variable that it does not understand, and ignores it; `heapsonde report` names these variables.",
         0, 0);
    fputc('\n', out);
    print_variables(out, HS_READER_RECORDER);
    fputc('\n', out);
    wrap(out, "These variables of other memory profilers have no effect and are not refused:", 0, 0);
    fputc('\n', out);
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        if (variable->kind == HS_VARIABLE_NO_EFFECT)
            fprintf(out, "- `MEMORY_PROFILER_%s`\n", variable->name);
    fputs("\n## Of the command\n\n", out);
    wrap(out, "Every command but `doctor` and `help` refuses wrong values of these.", 0, 0);
    fputc('\n', out);
    print_variables(out, HS_READER_COMMAND);
    fputc('\n', out);
    wrap(out,
         "The sampling library reads `MALLOC_CONF` (docs/malloc_conf.md). `NO_COLOR`, `DEBUGINFOD_URLS`, `TMPDIR`, "
         "`XDG_CACHE_HOME` and `XDG_RUNTIME_DIR` have their usual meanings.",
         0, 0);
}

// ---- man page ------------------------------------------------------------------------------------------------------

static void roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
}

static void man_option(FILE *out, const struct hs_option *option)
{
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    roff(out, option->name);
    fputs("\\fR", out);
    if (option->argument)
        fprintf(out, option->optional ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", option->argument);
    fputc('\n', out);
    roff(out, option->help);
    if (option->choices) {
        fputs("; one of: ", out);
        roff(out, option->choices);
    }
    fputs(option->repeatable ? " (may be given several times).\n" : ".\n", out);
    if (option->variable)
        fprintf(out, "Sets \\fBHEAPSONDE_%s\\fR.\n", option->variable);
}

static void man_options(FILE *out, const struct hs_command *command, bool filters)
{
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));) {
        if ((option->kind == HS_OPTION_FILTER) == filters)
            man_option(out, option);
    }
}

static void man_some_filters(FILE *out, const struct hs_command *command)
{
    const char *before = ".PP\nIt also takes these of FILTERS: ";
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));) {
        if (option->kind != HS_OPTION_FILTER)
            continue;
        fprintf(out, "%s\\-\\-", before);
        roff(out, option->name);
        before = ", ";
    }
    fputs(".\n", out);
}

static void man_command(FILE *out, const struct hs_command *command)
{
    fprintf(out, ".SS heapsonde %s ", command->name);
    roff(out, command->synopsis);
    fputc('\n', out);
    roff(out, command->description);
    fputc('\n', out);
    man_options(out, command, false);
    if (takes_filters(command) && !command->takes)
        fputs(".PP\nIt also takes the options of FILTERS.\n", out);
    else if (takes_filters(command))
        man_some_filters(out, command);
}

// All commands that take all filters take the same.
static void man_filters(FILE *out)
{
    size_t i = 0;
    while (hs_commands[i] && (hs_commands[i]->takes || !takes_filters(hs_commands[i])))
        i++;
    if (!hs_commands[i])
        return;
    fputs(".SH FILTERS\nOptions that select allocations; if several are given, all have to match. ", out);
    roff(out, filter_values);
    fputc('\n', out);
    man_options(out, hs_commands[i], true);
}

void hs_documents__man(FILE *out)
{
    fputs(".\\\" SPDX-License-Identifier: MIT OR Apache-2.0\n.TH HEAPSONDE 1\n.SH NAME\nheapsonde \\- ", out);
    roff(out, tagline);
    fputs("\n.SH SYNOPSIS\n", out);
    for (size_t i = 0; hs_commands[i]; i++) {
        fprintf(out, "%s.B heapsonde %s\n", i ? ".br\n" : "", hs_commands[i]->name);
        roff(out, hs_commands[i]->synopsis);
        fputc('\n', out);
    }
    fputs(".SH COMMANDS\nEvery command also takes \\fB\\-h\\fR, \\fB\\-\\-help\\fR.\n", out);
    for (size_t i = 0; hs_commands[i]; i++)
        man_command(out, hs_commands[i]);
    man_filters(out);
    fputs(".SH EXIT STATUS\n"
          "0 on success, 1 if something failed, 2 if the command line is wrong, 3 if a condition of\n"
          "\\fB\\-\\-fail\\-if\\fR holds or a call site exceeds \\fB\\-\\-baseline\\fR. \\fBheapsonde run\\fR ends "
          "with the\n"
          "status of the program it ran (128 plus the number of the signal if a signal ended it), with 126 if the\n"
          "program cannot be run, and with 127 if it is not found.\n"
          ".SH ENVIRONMENT\n.TP\n.B HEAPSONDE_LIBRARY\nThe recording library that \\fBheapsonde run\\fR preloads.\n"
          ".TP\n.B HEAPSONDE_SHIMS\nThe folder of the libraries for targets, with a folder for each ABI "
          "(\\fBheapsonde shims\\fR).\n"
          ".TP\n.B HEAPSONDE_KEY_FILE\nThe shared key of \\fBgather\\fR, \\fBctl\\fR, \\fBpush\\fR, \\fBserver\\fR "
          "and \\fBtop\\fR, if \\fB\\-\\-key\\-file\\fR is not given.\n"
          ".TP\n.B HEAPSONDE_TOKEN\nThe token of \\fBserver\\fR, \\fBctl serve\\fR and "
          "\\fBgather \\-\\-metrics\\fR, if \\fB\\-\\-token\\fR is not given; \\fBtop\\fR sends it to the server.\n"
          ".TP\n.B NO_COLOR\nWhen set, output has no colour.\n"
          ".TP\n.B DEBUGINFOD_URLS\nServers that are asked for debug information that is not on this machine.\n"
          ".PP\nAll others: \\fBheapsonde help variables\\fR.\n",
          out);
}

// ---- bash completion -----------------------------------------------------------------------------------------------

static void completion_values(FILE *out, const struct hs_option *option)
{
    if (option->kind == HS_OPTION_FLAG || option->optional)
        return;
    fprintf(out, "            --%s", option->name);
    if (option->letter)
        fprintf(out, "|-%c", option->letter);
    fputs(") ", out);
    if (option->choices)
        fprintf(out, "COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", option->choices);
    else if (option->kind == HS_OPTION_FILE || option->kind == HS_OPTION_INPUT)
        fputs("COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", out);
    else if (option->kind == HS_OPTION_DIRECTORY)
        fputs("COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n", out);
    else
        fputs("return ;;\n", out);
}

static void completion_operands(FILE *out, const struct hs_command *command)
{
    switch (command->operand) {
    case HS_OPERAND_TRACE:
        fputs("        COMPREPLY=($(compgen -f -- \"$word\"))\n", out);
        break;
    case HS_OPERAND_PROGRAM:
        fputs("        COMPREPLY=($(compgen -c -f -- \"$word\"))\n", out);
        break;
    case HS_OPERAND_COMMAND:
        fputs("        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n", out);
        break;
    case HS_OPERAND_CONTROL:
        fputs("        COMPREPLY=($(compgen -W 'list start stop dump status reset rate serve mark flush' -- "
              "\"$word\"))\n",
              out);
        break;
    case HS_OPERAND_PROCESS:
        fputs("        COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$word\"))\n", out);
        break;
    case HS_OPERAND_ACTION:
    case HS_OPERAND_NONE:
        break;
    }
}

static void completion_command(FILE *out, const struct hs_command *command)
{
    fprintf(out, "    %s)\n        case $previous in\n", command->name);
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));)
        completion_values(out, option);
    fputs("        esac\n        if [[ $word == -* ]]; then\n            COMPREPLY=($(compgen -W '", out);
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));)
        fprintf(out, "--%s ", option->name);
    fputs("--help' -- \"$word\"))\n            return\n        fi\n", out);
    completion_operands(out, command);
    fputs("        ;;\n", out);
}

void hs_documents__completion(FILE *out)
{
    fputs("# SPDX-License-Identifier: MIT OR Apache-2.0\n# bash completion for heapsonde\n_heapsonde()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} commands='",
          out);
    for (size_t i = 0; hs_commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", hs_commands[i]->name);
    fputs("'\n    COMPREPLY=()\n    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          out);
    for (size_t i = 0; hs_commands[i]; i++)
        completion_command(out, hs_commands[i]);
    fputs("    esac\n}\ncomplete -o filenames -F _heapsonde heapsonde\n", out);
}
