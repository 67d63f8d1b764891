// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/run_wrapper.h"

#include "host/board/words.h"
#include "host/cli/program.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "HEAPSONDE_RUN_OPTIONS"

extern char **environ;

bool hs_run_wrapper__has_more(const struct hs_arguments *arguments)
{
    return hs_arguments__flag(arguments, "wrapper") && getenv(VARIABLE);
}

// --name or --name=text. The caller frees it.
static char *spelled(const struct hs_given *given)
{
    char *word = NULL;
    bool flag = given->option->kind == HS_OPTION_FLAG || (given->option->optional && !*given->text);
    int length = flag ? asprintf(&word, "--%s", given->option->name)
                      : asprintf(&word, "--%s=%s", given->option->name, given->text);
    return length < 0 ? NULL : word;
}

static char **joined(const struct hs_arguments *arguments, char *const *more)
{
    size_t given = arguments->given_count, operands = (size_t)arguments->operand_count;
    size_t count = 0, own = hs_words__count(more);
    char **words = calloc(1 + own + given + 1 + operands + 1, sizeof(*words));
    if (!words)
        return NULL;
    words[count++] = strdup(arguments->command->name);
    for (size_t i = 0; i < own; i++)
        words[count++] = strdup(more[i]);
    for (size_t i = 0; i < given; i++)
        words[count++] = spelled(&arguments->given[i]);
    words[count++] = strdup("--");
    for (size_t i = 0; i < operands; i++)
        words[count++] = strdup(arguments->operands[i]);
    for (size_t i = 0; i < count; i++)
        if (!words[i]) {
            hs_words__free(words);
            return NULL;
        }
    return words;
}

// An option without its value would take a word of the command line for it.
static int check_options(const struct hs_arguments *arguments, char *const *more)
{
    struct hs_arguments some;
    size_t count = hs_words__count(more);
    char **words = calloc(count + 2, sizeof(*words));
    if (!words)
        return HS_EXIT_FAILURE;
    words[0] = (char *)(uintptr_t)arguments->command->name;
    memcpy(words + 1, more, count * sizeof(*words));
    enum hs_parse_result parsed = hs_arguments__parse_some(&some, arguments->command, (int)count + 1, words);
    bool more_than_options = parsed == HS_PARSE_HELP || (parsed == HS_PARSE_OK && some.operand_count);
    if (more_than_options)
        hs_complain(arguments->command, VARIABLE " may contain only options of run: %s", getenv(VARIABLE));
    hs_arguments__free(&some);
    free(words);
    return parsed == HS_PARSE_OK && !more_than_options ? HS_EXIT_OK : HS_EXIT_USAGE;
}

static int parse_and_run(const struct hs_arguments *arguments, char **words,
                         int (*run)(const struct hs_arguments *arguments))
{
    struct hs_arguments all;
    int status = HS_EXIT_USAGE;
    size_t before = (size_t)arguments->operand_count;
    enum hs_parse_result parsed = hs_arguments__parse(&all, arguments->command, (int)hs_words__count(words), words);
    if (parsed == HS_PARSE_OK && (size_t)all.operand_count == before)
        status = run(&all);
    else if (parsed != HS_PARSE_WRONG)
        hs_complain(arguments->command, VARIABLE " may contain only options of run: %s", words[1]);
    hs_arguments__free(&all);
    return status;
}

int hs_run_wrapper__with_more(const struct hs_arguments *arguments, int (*run)(const struct hs_arguments *arguments))
{
    char **more = hs_words__split(getenv(VARIABLE));
    if (!more) {
        hs_complain(arguments->command, VARIABLE " contains a quote that is not closed; close it");
        return HS_EXIT_USAGE;
    }
    int status = check_options(arguments, more);
    // The program may start such a wrapper itself; it must not be recorded twice.
    unsetenv(VARIABLE);
    char **words = status ? NULL : joined(arguments, more);
    if (!status)
        status = words ? parse_and_run(arguments, words, run) : HS_EXIT_FAILURE;
    hs_words__free(words);
    hs_words__free(more);
    return status;
}

int hs_run_wrapper__run_unrecorded(const struct hs_arguments *arguments, const struct hs_program *program)
{
    char **words = hs_program__unrecorded_words(program, arguments->operands);
    if (words)
        execvp(words[0], words);
    hs_complain(arguments->command, "%s cannot be run: %s", arguments->operands[0], strerror(errno));
    hs_words__free(words);
    return HS_EXIT_CANNOT_RUN;
}
