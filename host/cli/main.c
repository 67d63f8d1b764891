// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/memory.h"
#include "host/cli/commands.h"
#include "host/cli/documents.h"
#include "host/cli/passwords.h"
#include "host/cli/values.h"
#include "host/cli/variables.h"
#include "host/import/cache.h"
#include "host/webui/files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HEAPSONDE_VERSION
#define HEAPSONDE_VERSION "unknown"
#endif
// A line for each library that the build did without.
#ifndef HEAPSONDE_LOST
#define HEAPSONDE_LOST ""
#endif

static bool reads_files(const struct hs_command *command)
{
    const struct hs_option *option = command->options;
    while (option->name && strcmp(option->name, HS_MEMORY) != 0)
        option++;
    return option->name != NULL;
}

// These two work whatever the environment is: one describes the variables, the other says which is wrong.
static bool needs_variables(const struct hs_command *command)
{
    return command != &hs_command_help && command != &hs_command_doctor;
}

static bool take_variables(const struct hs_command *command)
{
    char problem[512];
    const char *size = getenv("HEAPSONDE_CACHE_SIZE");
    uint64_t bytes;
    if (needs_variables(command) && hs_variables__problem_of_command(problem, sizeof problem)) {
        hs_complain(command, "%s", problem);
        return false;
    }
    if (size && hs_value__size(size, &bytes))
        hs_cache__limit(bytes);
    return true;
}

static int run_command(const struct hs_command *command, int argc, char **argv)
{
    struct hs_arguments arguments;
    enum hs_parse_result result = hs_arguments__parse(&arguments, command, argc, argv);
    int status = HS_EXIT_USAGE;
    if (result == HS_PARSE_HELP) {
        hs_documents__help(stdout, command);
        status = HS_EXIT_OK;
    } else if (result == HS_PARSE_OK && take_variables(command)) {
        if (reads_files(command))
            hs_memory__limit(hs_arguments__number(&arguments, HS_MEMORY, 0));
        status = command->run(&arguments);
    }
    hs_arguments__free(&arguments);
    return status;
}

// A full disk or a closed pipe must not look like success. What failed has said why already.
static int finish(int status)
{
    bool written = !fflush(stdout) && !ferror(stdout);
    if (written || status == HS_EXIT_FAILURE)
        return status;
    if (errno != EPIPE)
        hs_complain(NULL, "standard output: %s; the output is not complete", strerror(errno));
    return status ? status : HS_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    hs_passwords__hide(argc, argv);
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        hs_documents__overview(stderr);
        return HS_EXIT_USAGE;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        hs_documents__overview(stdout);
        return finish(HS_EXIT_OK);
    }
    if (!strcmp(word, "--version")) {
        fputs("heapsonde " HEAPSONDE_VERSION "\n" HEAPSONDE_LOST, stdout);
        if (!hs_webui_files[0].path)
            puts("without the page: it was left out of the build");
        return finish(HS_EXIT_OK);
    }
    const struct hs_command *command = hs_command__find(word);
    if (command)
        return finish(run_command(command, argc - 1, argv + 1));
    hs_command__complain_unknown(NULL, word);
    return HS_EXIT_USAGE;
}
