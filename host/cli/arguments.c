// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/command.h"

#include "host/cli/values.h"
#include "host/filter/nearest.h"
#include "host/report/text.h"
#include "host/symbols/source_map.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// getopt's value for the option with index i is FIRST_VALUE + i; letters map to it.
enum { FIRST_VALUE = 0x1000, HELP_VALUE = 0xfff };

struct tables {
    struct option *longs;
    char **spellings; // names with _ for -, by option
    char *shorts;
    size_t count;
};

// Text in a message may come from a hostile file or process.
static void print_lines(const char *text)
{
    for (size_t length = strcspn(text, "\n");; text += length + 1, length = strcspn(text, "\n")) {
        hs_text__print(stderr, text, length);
        fputc('\n', stderr);
        if (!text[length])
            return;
    }
}

void hs_complain(const struct hs_command *command, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        text = NULL;
    va_end(list);
    fprintf(stderr, "heapsonde%s%s: ", command ? " " : "", command ? command->name : "");
    print_lines(text ? text : "out of memory");
    free(text);
}

static size_t count_options(const struct hs_command *command)
{
    size_t count = 0;
    while (command->options[count].name)
        count++;
    return count;
}

// NULL: the same, or out of memory, when it cannot be written so.
static char *with_underscores(const char *name)
{
    char *spelling = strchr(name, '-') ? strdup(name) : NULL;
    for (char *at = spelling; at && *at; at++)
        *at = *at == '-' ? '_' : *at;
    return spelling;
}

static void free_tables(struct tables *tables)
{
    for (size_t i = 0; tables->spellings && i < tables->count; i++)
        free(tables->spellings[i]);
    free(tables->spellings);
    free(tables->longs);
    free(tables->shorts);
}

static bool make_tables(struct tables *tables, const struct hs_command *command)
{
    tables->count = count_options(command);
    tables->longs = calloc(2 * tables->count + 2, sizeof(*tables->longs));
    tables->spellings = calloc(tables->count + 1, sizeof(*tables->spellings));
    tables->shorts = calloc(tables->count * 2 + 8, 1);
    if (!tables->longs || !tables->shorts || !tables->spellings)
        return false;
    struct option *longs = tables->longs;
    // "+": arguments after the program of `run` belong to the program. ":": a missing value is reported separately.
    char *shorts = tables->shorts;
    if (command->operand == HS_OPERAND_PROGRAM)
        *shorts++ = '+';
    *shorts++ = ':';
    *shorts++ = 'h';
    for (size_t i = 0; i < tables->count; i++) {
        const struct hs_option *option = &command->options[i];
        int has_argument = option->kind == HS_OPTION_FLAG ? no_argument
                           : option->optional             ? optional_argument
                                                          : required_argument;
        *longs++ = (struct option){option->name, has_argument, NULL, FIRST_VALUE + (int)i};
        tables->spellings[i] = with_underscores(option->name);
        if (tables->spellings[i])
            *longs++ = (struct option){tables->spellings[i], has_argument, NULL, FIRST_VALUE + (int)i};
        if (option->letter)
            *shorts++ = option->letter;
        if (option->letter && has_argument)
            *shorts++ = ':';
    }
    *longs = (struct option){"help", no_argument, NULL, HELP_VALUE};
    return true;
}

static const struct hs_option *option_of(const struct hs_command *command, size_t count, int value)
{
    if (value >= FIRST_VALUE && value < FIRST_VALUE + (int)count)
        return &command->options[value - FIRST_VALUE];
    for (size_t i = 0; i < count; i++) {
        if (command->options[i].letter && command->options[i].letter == value)
            return &command->options[i];
    }
    return NULL;
}

static bool read_value(struct hs_given *given)
{
    switch (given->option->kind) {
    case HS_OPTION_NUMBER:
        return hs_value__number(given->text, &given->number);
    case HS_OPTION_SIZE:
        return hs_value__size(given->text, &given->number);
    case HS_OPTION_DURATION:
        return hs_value__duration(given->text, &given->number);
    case HS_OPTION_PERCENT:
        return hs_value__percent(given->text, &given->percent);
    case HS_OPTION_CHOICE:
        return hs_value__choice(given->text, given->option->choices);
    case HS_OPTION_INPUT:
        return hs_value__file(given->text);
    case HS_OPTION_DIRECTORY:
        return hs_value__directory(given->text);
    case HS_OPTION_MAPPING:
        return hs_source_map__is_valid(given->text);
    default:
        return true;
    }
}

static void complain_value(const struct hs_command *command, const struct hs_given *given)
{
    static const char *const expected[] = {
        [HS_OPTION_NUMBER] = "a whole number such as 10",
        [HS_OPTION_SIZE] = "a size such as 4096, 64K or 1.5M",
        [HS_OPTION_DURATION] = "a time such as 2s, 300ms or 1.5min",
        [HS_OPTION_PERCENT] = "a percentage from 0 to 100",
        [HS_OPTION_INPUT] = "a file that exists and can be read",
        [HS_OPTION_DIRECTORY] = "a folder that exists and can be read",
        [HS_OPTION_MAPPING] =
            "the folder in the debug information, '=' and the folder here, such as /build/src=/home/me/src",
    };
    const struct hs_option *option = given->option;
    if (option->kind == HS_OPTION_CHOICE)
        hs_complain(command, "--%s does not know '%s'; give one of: %s", option->name, given->text, option->choices);
    else
        hs_complain(command, "--%s cannot use '%s'; give %s", option->name, given->text, expected[option->kind]);
}

static enum hs_parse_result take_filter(struct hs_arguments *arguments, const struct hs_given *given)
{
    struct hs_error error = {.message = ""};
    const char *name = given->option->parameter;
    if (hs_filter_parameters__take(&arguments->filter, name, given->text, &error) == HS_PARAMETER_TAKEN)
        return HS_PARSE_OK;
    hs_complain(arguments->command, "%s", error.message);
    return HS_PARSE_WRONG;
}

static enum hs_parse_result take_option(struct hs_arguments *arguments, const struct hs_option *option,
                                        const char *text)
{
    struct hs_given *given = &arguments->given[arguments->given_count];
    *given = (struct hs_given){.option = option, .text = text ? text : ""};
    if ((text || !option->optional) && !read_value(given)) {
        complain_value(arguments->command, given);
        return HS_PARSE_WRONG;
    }
    if (option->kind == HS_OPTION_FILTER && take_filter(arguments, given) != HS_PARSE_OK)
        return HS_PARSE_WRONG;
    arguments->given_count++;
    return HS_PARSE_OK;
}

// Whether an option begins like this, however its words are joined.
static bool begins_options(const struct hs_command *command, const char *word)
{
    size_t length = word[0] == '-' && word[1] == '-' ? strcspn(word + 2, "=") : 0;
    for (const struct hs_option *option = command->options; length && option->name; option++) {
        size_t same = 0;
        while (same < length && option->name[same] == (word[2 + same] == '_' ? '-' : word[2 + same]))
            same++;
        if (same == length)
            return true;
    }
    return false;
}

static void suggest_option(const struct hs_command *command, const char *word, char *text, size_t size)
{
    bool is_long = word[0] == '-' && word[1] == '-';
    struct hs_nearest nearest = {.word = word + 2, .length = is_long ? strcspn(word + 2, "=") : 0};
    for (const struct hs_option *option = command->options; is_long && option->name; option++)
        hs_nearest__offer(&nearest, option->name);
    *text = 0;
    if (nearest.found && nearest.distance)
        snprintf(text, size, "did you mean --%s? ", nearest.found);
}

static void complain_option(const struct hs_command *command, int problem, const char *word)
{
    const char *text = problem == ':'                  ? "needs a value"
                       : begins_options(command, word) ? "could be several options"
                                                       : "is not an option of this command";
    if (problem == '?' && optopt >= HELP_VALUE)
        text = "takes no value";
    char meant[96];
    suggest_option(command, word, meant, sizeof(meant));
    // getopt tells an unknown letter apart only by optopt.
    if (optopt && optopt < HELP_VALUE && word[0] == '-' && word[1] != '-')
        hs_complain(command, "-%c %s; see 'heapsonde %s --help'", optopt, text, command->name);
    else
        hs_complain(command, "%s %s; %ssee 'heapsonde %s --help'", word, text, meant, command->name);
}

static enum hs_parse_result parse_options(struct hs_arguments *arguments, const struct tables *tables, int argc,
                                          char **argv)
{
    optind = 0; // starts getopt afresh
    opterr = 0;
    for (;;) {
        int index = -1;
        int value = getopt_long(argc, argv, tables->shorts, tables->longs, &index);
        if (value == -1)
            return HS_PARSE_OK;
        if (value == 'h' || value == HELP_VALUE)
            return HS_PARSE_HELP;
        if (value == '?' || value == ':') {
            complain_option(arguments->command, value, argv[optind > 1 ? optind - 1 : 1]);
            return HS_PARSE_WRONG;
        }
        const struct hs_option *option = option_of(arguments->command, tables->count, value);
        if (take_option(arguments, option, optarg) != HS_PARSE_OK)
            return HS_PARSE_WRONG;
    }
}

static enum hs_parse_result check_operands(const struct hs_arguments *arguments)
{
    const struct hs_command *command = arguments->command;
    if (arguments->operand_count < command->least_operands) {
        const char *what = command->operand == HS_OPERAND_PROGRAM   ? "a program to run"
                           : command->operand == HS_OPERAND_CONTROL ? "a process, or 'list'"
                           : command->operand == HS_OPERAND_PROCESS ? "the number of a process"
                           : command->operand == HS_OPERAND_ACTION  ? "an action and a database"
                           : command->least_operands > 1            ? "two files"
                                                                    : "a trace file";
        hs_complain(command, "needs %s: heapsonde %s %s", what, command->name, command->synopsis);
        return HS_PARSE_WRONG;
    }
    if (command->most_operands >= 0 && arguments->operand_count > command->most_operands) {
        hs_complain(command, "does not know what to do with '%s'; usage: heapsonde %s %s",
                    arguments->operands[command->most_operands], command->name, command->synopsis);
        return HS_PARSE_WRONG;
    }
    return HS_PARSE_OK;
}

static bool is_any_given(const struct hs_arguments *arguments, const char *names)
{
    for (size_t i = 0; i < arguments->given_count; i++)
        if (hs_value__choice(arguments->given[i].option->name, names))
            return true;
    return false;
}

// "a b" becomes "--a or --b".
static char *as_options(const char *names)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fputs("--", out);
    for (; *names; names++)
        if (*names == ' ')
            fputs(" or --", out);
        else
            fputc(*names, out);
    fclose(out);
    return text;
}

static enum hs_parse_result check_together(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_option *option = arguments->given[i].option;
        if (!option->only_with || is_any_given(arguments, option->only_with))
            continue;
        char *wanted = as_options(option->only_with);
        hs_complain(arguments->command, "--%s is for %s, which was not given", option->name,
                    wanted ? wanted : option->only_with);
        free(wanted);
        return HS_PARSE_WRONG;
    }
    return HS_PARSE_OK;
}

enum hs_parse_result hs_arguments__parse_some(struct hs_arguments *arguments, const struct hs_command *command,
                                              int argc, char **argv)
{
    struct tables tables = {0};
    *arguments = (struct hs_arguments){.command = command};
    hs_filter_parameters__init(&arguments->filter, HS_TIME_UNIT_START);
    arguments->filter.as_options = true;
    arguments->given = calloc((size_t)argc + 1, sizeof(*arguments->given));
    enum hs_parse_result result = HS_PARSE_WRONG;
    if (make_tables(&tables, command) && arguments->given)
        result = parse_options(arguments, &tables, argc, argv);
    else
        hs_complain(command, "out of memory");
    free_tables(&tables);
    if (result != HS_PARSE_OK)
        return result;
    arguments->operand_count = argc - optind;
    arguments->operands = argv + optind;
    return check_together(arguments);
}

enum hs_parse_result hs_arguments__parse(struct hs_arguments *arguments, const struct hs_command *command, int argc,
                                         char **argv)
{
    enum hs_parse_result result = hs_arguments__parse_some(arguments, command, argc, argv);
    return result == HS_PARSE_OK ? check_operands(arguments) : result;
}

void hs_arguments__free(struct hs_arguments *arguments)
{
    free(arguments->given);
    arguments->given = NULL;
    hs_filter_parameters__free(&arguments->filter);
}

const struct hs_given *hs_arguments__given(const struct hs_arguments *arguments, const char *name)
{
    for (size_t i = arguments->given_count; i-- > 0;) {
        if (!strcmp(arguments->given[i].option->name, name))
            return &arguments->given[i];
    }
    return NULL;
}

bool hs_arguments__flag(const struct hs_arguments *arguments, const char *name)
{
    return hs_arguments__given(arguments, name) != NULL;
}

const char *hs_arguments__text(const struct hs_arguments *arguments, const char *name, const char *default_value)
{
    const struct hs_given *given = hs_arguments__given(arguments, name);
    return given ? given->text : default_value;
}

uint64_t hs_arguments__number(const struct hs_arguments *arguments, const char *name, uint64_t default_value)
{
    const struct hs_given *given = hs_arguments__given(arguments, name);
    return given ? given->number : default_value;
}

double hs_arguments__percent(const struct hs_arguments *arguments, const char *name, double default_value)
{
    const struct hs_given *given = hs_arguments__given(arguments, name);
    return given ? given->percent : default_value;
}

const char **hs_arguments__texts(const struct hs_arguments *arguments, const char *name, size_t *count)
{
    const char **texts = calloc(arguments->given_count + 1, sizeof(*texts));
    *count = 0;
    for (size_t i = 0; texts && i < arguments->given_count; i++) {
        if (!strcmp(arguments->given[i].option->name, name))
            texts[(*count)++] = arguments->given[i].text;
    }
    return texts;
}
