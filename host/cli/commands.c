// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"

#include "host/filter/nearest.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

// clang-format off
const struct hs_command *const hs_commands[] = {
    &hs_command_run,
    &hs_command_attach,
    &hs_command_detach,
    &hs_command_report,
    &hs_command_ask,
    &hs_command_export,
    &hs_command_diff,
    &hs_command_symbolize,
    &hs_command_import,
    &hs_command_extract,
    &hs_command_strip,
    &hs_command_gather,
#ifdef HEAPSONDE_HAS_CURL
    &hs_command_fleet,
    &hs_command_push,
#endif
    &hs_command_ctl,
    &hs_command_server,
    &hs_command_top,
    &hs_command_doctor,
    &hs_command_shims,
    &hs_command_baseline,
    &hs_command_help,
    NULL,
};
// clang-format on

const struct hs_option *hs_command__next(const struct hs_command *command, const struct hs_option *option)
{
    option = option ? option + 1 : command->options;
    while (option->name && command->takes && !command->takes(option))
        option++;
    return option->name ? option : NULL;
}

const struct hs_command *hs_command__find(const char *name)
{
    for (size_t i = 0; hs_commands[i]; i++) {
        if (!strcmp(hs_commands[i]->name, name))
            return hs_commands[i];
    }
    return NULL;
}

// What other profilers and other commands call it.
static const char *usual_name(const char *name)
{
    static const char *const names[][2] = {
        {"record", "run"},
        {"exec", "run"},
        {"start", "run"},
        {"compare", "diff"},
        {"check", "run --fail-if"},
        {"convert", "export"},
        {"view", "server --open"},
        {"serve", "server"},
        {"print", "report"},
        {"version", "--version"},
        {"man", "help --man"},
        {"completion", "help --completion"},
        {"flamegraph", "export --format flamegraph"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return NULL;
}

static bool is_file(const char *name)
{
    struct stat status;
    return !stat(name, &status) && S_ISREG(status.st_mode);
}

void hs_command__complain_unknown(const struct hs_command *command, const char *name)
{
    struct hs_nearest nearest = {.word = name, .length = strlen(name)};
    for (size_t i = 0; hs_commands[i]; i++)
        hs_nearest__offer(&nearest, hs_commands[i]->name);
    const char *meant = usual_name(name) ? usual_name(name) : nearest.found;
    if (!command && !meant && is_file(name))
        hs_complain(command, "'%s' is not a command; 'heapsonde report FILE' and 'heapsonde server FILE' read a file",
                    name);
    else if (meant)
        hs_complain(command, "there is no command '%s'; did you mean '%s'? 'heapsonde --help' lists them", name, meant);
    else
        hs_complain(command, "there is no command '%s'; 'heapsonde --help' lists them", name);
}
