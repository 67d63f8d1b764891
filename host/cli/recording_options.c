// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/recording_options.h"

#include "host/base/text_stream.h"
#include "host/cli/variables.h"
#include "host/gather/shared_key.h"
#include "host/symbols/jit_source.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hs_recording_options__is_variable(const char *entry)
{
    return !strncmp(entry, "HEAPSONDE_", 10) || !strncmp(entry, "MEMORY_PROFILER_", 16);
}

void hs_recording_options__set(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_given *given = &arguments->given[i];
        char name[128];
        char number[24];
        if (!given->option->variable)
            continue;
        const char *value = given->text;
        if (given->option->flag_value)
            value = given->option->flag_value;
        else if (given->option->kind == HS_OPTION_NUMBER || given->option->kind == HS_OPTION_SIZE) {
            snprintf(number, sizeof(number), "%llu", (unsigned long long)given->number);
            value = number;
        }
        snprintf(name, sizeof(name), "HEAPSONDE_%s", given->option->variable);
        setenv(name, value, 1);
    }
    // The threshold has no effect without the switch.
    if (hs_arguments__flag(arguments, "cull"))
        setenv("HEAPSONDE_CULL_TEMPORARY_ALLOCATIONS", "1", 1);
    if (hs_arguments__flag(arguments, "aggregate"))
        setenv("HEAPSONDE_MODE", "aggregate", 1);
}

bool hs_recording_options__are_right(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_given *given = &arguments->given[i];
        const char *name = given->option->variable;
        const struct hs_variable *variable = name ? hs_variable__find(name, strlen(name)) : NULL;
        char problem[256];
        if (!variable || (given->option->kind != HS_OPTION_TEXT && given->option->kind != HS_OPTION_NUMBER) ||
            !hs_variable__problem(variable, given->text, problem, sizeof(problem)))
            continue;
        hs_complain(arguments->command, "--%s %s", given->option->name, problem);
        return false;
    }
    return true;
}

static const char *variable_text(const char *name)
{
    char full[128];
    snprintf(full, sizeof(full), "HEAPSONDE_%s", name);
    const char *text = getenv(full);
    if (text)
        return text;
    snprintf(full, sizeof(full), "MEMORY_PROFILER_%s", name);
    return getenv(full);
}

bool hs_recording_options__key_is_good(const struct hs_arguments *arguments)
{
    struct hs_shared_key key;
    struct hs_error error = {.message = ""};
    const char *path = variable_text("KEY_FILE");
    bool good = !path || !*path || !hs_shared_key__read(&key, path, &error);
    if (!good)
        hs_complain(arguments->command, "%s", error.message);
    explicit_bzero(&key, sizeof(key));
    return good;
}

// As the recorder reads it: stars in the last part of the path stand for any characters, everything else for itself.
static int find_included(const char *root, const char *path, bool *readable)
{
    const char *slash = strrchr(path, '/');
    size_t stars = slash ? (size_t)(slash - path) : 0, count = 0;
    char *pattern = malloc(2 * (strlen(root) + strlen(path)) + 1);
    glob_t found;
    if (!pattern)
        return -ENOMEM;
    for (const char *at = root; *at; at++)
        count += (size_t)sprintf(pattern + count, "\\%c", *at);
    for (size_t i = 0; path[i]; i++)
        count += (size_t)sprintf(pattern + count, path[i] == '*' && i >= stars ? "%c" : "\\%c", path[i]);
    int result = glob(pattern, 0, NULL, &found);
    struct stat status;
    for (size_t i = 0; !result && !*readable && i < found.gl_pathc; i++)
        *readable = !stat(found.gl_pathv[i], &status) && S_ISREG(status.st_mode) && !access(found.gl_pathv[i], R_OK);
    if (!result)
        globfree(&found);
    free(pattern);
    return result == GLOB_NOSPACE ? -ENOMEM : 0;
}

bool hs_recording_options__included_are_there(const struct hs_arguments *arguments)
{
    const char *path = variable_text("INCLUDE_FILE");
    size_t count;
    bool readable = false;
    if (!path || !*path || hs_arguments__flag(arguments, "on"))
        return true;
    const char **roots = hs_arguments__texts(arguments, "sysroot", &count);
    int result = roots ? find_included("", path, &readable) : -ENOMEM;
    for (size_t i = 0; !result && !readable && i < count; i++)
        result = find_included(roots[i], path, &readable);
    free((void *)(uintptr_t)roots);
    if (!result && !readable)
        hs_complain(arguments->command, "--include-file %s: no file of that name can be read", path);
    return !result && readable;
}

const char *hs_recording_options__output(const struct hs_arguments *arguments)
{
    const char *given = hs_arguments__text(arguments, "output", NULL);
    if (!given)
        given = variable_text("OUTPUT");
    return given && *given ? given : HS_DEFAULT_OUTPUT;
}

char *hs_recording_options__absolute_pattern(const char *pattern)
{
    char *folder = pattern[0] == '/' ? NULL : getcwd(NULL, 0);
    struct hs_text_stream escaped;
    FILE *out = hs_text_stream__open(&escaped);
    for (const char *at = folder; out && at && *at; at++) {
        putc(*at, out);
        if (*at == '%')
            putc('%', out);
    }
    if (out)
        fprintf(out, "%s%s", folder ? "/" : "", pattern);
    free(folder);
    return hs_text_stream__close(&escaped);
}

// `seen`: the same as seen in `folder`.
static int check_file(const struct hs_command *command, const char *pattern, int folder, const char *seen)
{
    struct stat status;
    if (fstatat(folder, seen, &status, 0) || S_ISREG(status.st_mode))
        return 0;
    if (S_ISDIR(status.st_mode)) {
        hs_complain(command, "--output %s is a folder; name a file in it", pattern);
        return -EISDIR;
    }
    // The recorder's buffers are mapped pages of the file.
    hs_complain(command, "--output %s is not a regular file; name one, or send the trace with --connect or --listen",
                pattern);
    return -EINVAL;
}

// False: it is part of the pattern, or the current one.
static bool folder_of(const char *pattern, char *folder, size_t size)
{
    snprintf(folder, size, "%s", pattern);
    char *slash = strrchr(folder, '/');
    if (!slash || memchr(folder, '%', (size_t)(slash - folder)))
        return false;
    slash[slash == folder] = 0;
    return true;
}

static int cannot_write(const struct hs_command *command, const char *folder, const char *where, int problem)
{
    hs_complain(command,
                "the trace cannot be written to the folder %s%s: %s; create it or choose another place with --output",
                folder, where, strerror(problem));
    return -problem;
}

int hs_recording_options__check_output(const struct hs_command *command, const char *pattern)
{
    char folder[PATH_MAX];
    int failed = check_file(command, pattern, AT_FDCWD, pattern);
    if (failed || !folder_of(pattern, folder, sizeof(folder)) || !access(folder, W_OK | X_OK))
        return failed;
    return cannot_write(command, folder, "", errno);
}

// It may be a folder in which this process may only create files.
static bool tells_of_folder(int problem)
{
    return problem == ENOENT || problem == ENOTDIR;
}

static int check_output_in(const struct hs_command *command, const char *pattern, int root, const char *where)
{
    char name[PATH_MAX];
    if (!folder_of(pattern, name, sizeof(name)))
        return 0;
    const int folder = hs_jit_source__open_folder(root, name);
    if (folder < 0)
        return tells_of_folder(errno) ? cannot_write(command, name, where, errno) : 0;
    const char *file = strrchr(pattern, '/') + 1;
    int failed = check_file(command, pattern, folder, *file ? file : ".");
    if (!failed && faccessat(folder, ".", W_OK | X_OK, 0))
        failed = cannot_write(command, name, where, errno);
    close(folder);
    return failed;
}

int hs_recording_options__check_output_of(const struct hs_command *command, const char *pattern, pid_t pid)
{
    char path[64], where[64];
    snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    snprintf(where, sizeof(where), " that process %d sees", (int)pid);
    const int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return 0;
    const int failed = check_output_in(command, pattern, root, where);
    close(root);
    return failed;
}
