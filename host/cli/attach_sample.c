// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/attach_sample.h"

#include "host/base/text_stream.h"
#include "host/ctl/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Variables of the recording library that the sampling library has, too (docs/malloc_conf.md).
static const char *const shared[] = {
    "CONNECT", "ENABLE_SERVER", "BASE_SERVER_PORT", "ENABLE_BROADCAST", "KEY_FILE",   "INSECURE", "DEVICE",
    "LABELS",  "STREAM_POLICY", "STREAM_BUFFER",    "SPILL_FILE",       "SPILL_SIZE", "LOG",      "LOGFILE"};

static bool is_shared(const char *variable)
{
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (!strcmp(shared[i], variable))
            return true;
    return false;
}

bool hs_attach_sample__options_are_right(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_option *option = arguments->given[i].option;
        if (!strcmp(option->name, "sample") && *arguments->given[i].text && !arguments->given[i].number) {
            hs_complain(arguments->command, "--sample needs the mean number of bytes between samples, 1 or more");
            return false;
        }
        if (!option->variable || !strcmp(option->name, "output") || is_shared(option->variable))
            continue;
        hs_complain(arguments->command, "--%s is for recording, not for --sample; see docs/malloc_conf.md",
                    option->name);
        return false;
    }
    return true;
}

static char *compose(const struct hs_arguments *arguments, const char *output)
{
    struct hs_text_stream text;
    FILE *out = hs_text_stream__open(&text);
    const char *given = getenv("MALLOC_CONF");
    char *folder = getcwd(NULL, 0);
    uint64_t rate = hs_arguments__number(arguments, "sample", 0);
    if (out) {
        fputs("prof:true", out);
        if (folder && !strchr(folder, ','))
            fprintf(out, ",prof_prefix:%s/jeprof", folder);
        if (given && *given)
            fprintf(out, ",%s", given);
        if (output)
            fprintf(out, ",experimental_hs_name:%s", output);
        if (rate)
            fprintf(out, ",experimental_hs_sample:%llu", (unsigned long long)rate);
    }
    free(folder);
    return hs_text_stream__close(&text);
}

bool hs_attach_sample__set_options(const struct hs_arguments *arguments, const char *output)
{
    if (output && strchr(output, ',')) {
        hs_complain(arguments->command, "--output %s contains a comma, which MALLOC_CONF does not allow", output);
        return false;
    }
    char *options = compose(arguments, output);
    bool done = options && !setenv("MALLOC_CONF", options, 1);
    if (!done)
        hs_complain(arguments->command, "out of memory");
    free(options);
    return done;
}

char *hs_attach_sample__place(pid_t pid)
{
    char path[64], *variable = NULL;
    size_t room = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getdelim(&variable, &room, 0, file) > 0)
        if (!strncmp(variable, "XDG_RUNTIME_DIR=", 16)) {
            fclose(file);
            return variable;
        }
    if (file)
        fclose(file);
    free(variable);
    return NULL;
}

static void say_whether_controlled(pid_t pid)
{
    struct hs_ctl_process process;
    struct hs_error error = {.message = ""};
    if (!hs_ctl__find(&process, pid, &error))
        fprintf(stderr, "heapsonde: next: heapsonde ctl %d dump\n", (int)pid);
    else
        fprintf(stderr, "heapsonde: it has no control socket that this user can reach: dumps are written only as "
                        "MALLOC_CONF says\n");
}

void hs_attach_sample__say(const struct hs_inject_request *request)
{
    fprintf(stderr, "heapsonde: dumps do not contain blocks that are older\n");
    say_whether_controlled(request->pid);
}
