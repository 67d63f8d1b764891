// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/run_follow.h"

#include "host/cli/follow.h"
#include "host/cli/recording_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { MOST_SAID = 64 };

struct run_following {
    struct hs_follow_wish wish;
    const struct hs_command *command;
    struct hs_error error;
    bool has_failed;
    char *said[MOST_SAID]; // programs of which it was said that they are not recorded
    size_t said_count;
};

bool hs_run_follow__is_wanted(const struct hs_arguments *arguments)
{
    return *hs_arguments__text(arguments, "follow-children", "");
}

bool hs_run_follow__is_possible(const struct hs_arguments *arguments)
{
    const char *problem = NULL;
    if (!hs_run_follow__is_wanted(arguments))
        return true;
    if (!hs_inject__is_supported())
        problem = "works on AMD64 and AArch64";
    else if (hs_arguments__flag(arguments, "on"))
        problem = "works on this machine only, without --on";
    else if (hs_arguments__flag(arguments, "allocator-symbols") || hs_arguments__flag(arguments, "allocator-at"))
        problem = "cannot be combined with --allocator-symbols and --allocator-at, which apply to one program";
    if (problem)
        hs_complain(arguments->command, "--follow-children=trace %s; use --follow-children", problem);
    return !problem;
}

// Once for each program: a script may start it a thousand times.
static void say_not_recorded(void *context, pid_t pid, const char *program, const char *why)
{
    struct run_following *following = context;
    for (size_t i = 0; i < following->said_count; i++)
        if (!strcmp(following->said[i], program))
            return;
    char *kept = following->said_count < MOST_SAID ? strdup(program) : NULL;
    if (!kept)
        return;
    following->said[following->said_count++] = kept;
    hs_complain(following->command, "%s (process %d) %s", program, (int)pid, why);
}

static void begin(void *context, pid_t pid)
{
    struct run_following *following = context;
    following->has_failed = hs_follow(&following->wish, pid, &following->error) != 0;
}

int hs_run_follow__run(const struct hs_arguments *arguments, struct hs_child *child, const char *path, char **words,
                       const char *library, const char *passes_to)
{
    struct run_following following = {
        .wish = {.request = {.library = library, .begins_idle = hs_arguments__flag(arguments, "disabled")},
                 .passes_to = passes_to,
                 .listener = say_not_recorded,
                 .context = &following},
        .command = arguments->command,
        .error = {.message = ""}};
    struct hs_inject_request *request = &following.wish.request;
    for (char **entry = environ; *entry; entry++)
        if (hs_recording_options__is_variable(*entry) && request->variable_count < HS_INJECT_VARIABLES)
            request->variables[request->variable_count++] = *entry;
    int result = hs_child__run_held(child, path, words, environ, begin, &following);
    for (size_t i = 0; i < following.said_count; i++)
        free(following.said[i]);
    if (result || !following.has_failed)
        return result;
    hs_complain(arguments->command, "--follow-children=trace is not possible: %s; use --follow-children",
                following.error.message);
    return -ENOTSUP;
}
