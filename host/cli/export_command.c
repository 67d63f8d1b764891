// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/subject.h"
#include "host/export/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard_output(const char *path)
{
    return !strcmp(path, "-");
}

// Writes beside the target and renames, so that a failure leaves no half of a file and an old one intact. What is no
// regular file (a pipe, a device) is written directly.
static FILE *open_output(const char *path, char **temporary)
{
    struct stat status;
    *temporary = NULL;
    if (is_standard_output(path))
        return stdout;
    if (!stat(path, &status) && !S_ISREG(status.st_mode))
        return fopen(path, "we");
    if (asprintf(temporary, "%s.XXXXXX", path) < 0)
        return NULL;
    int fd = mkstemp(*temporary);
    mode_t mask = umask(0);
    umask(mask);
    if (fd >= 0)
        fchmod(fd, 0666 & ~mask);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out && fd >= 0)
        close(fd);
    if (!out) {
        int problem = errno;
        free(*temporary);
        *temporary = NULL;
        errno = problem;
    }
    return out;
}

static int close_output(FILE *out, const char *path, char *temporary, bool keep)
{
    int problem = 0;
    if (fflush(out) || ferror(out))
        problem = errno ? errno : EIO;
    if (out != stdout && fclose(out) && !problem)
        problem = errno;
    if (temporary && !problem && keep && rename(temporary, path))
        problem = errno;
    if (temporary && (problem || !keep))
        unlink(temporary);
    free(temporary);
    return problem;
}

static int write_export(const struct hs_arguments *arguments, const struct hs_subject *subject, const char *path)
{
    const struct hs_export_format *format = hs_export_format__find(hs_arguments__text(arguments, "format", ""));
    struct hs_export_options options = {
        .cost = hs_cost__parse(hs_arguments__text(arguments, "cost", "peak")),
        .blocks = !strcmp(hs_arguments__text(arguments, "unit", "bytes"), "count"),
    };
    char *temporary = NULL;
    FILE *out = open_output(path, &temporary);
    if (!out) {
        hs_complain(arguments->command, "%s cannot be written: %s; choose another file with -o", path, strerror(errno));
        return HS_EXIT_FAILURE;
    }
    int result = format->write(out, subject, &options);
    int problem = close_output(out, path, temporary, !result);
    if (result)
        hs_complain(arguments->command, "%s: out of memory; a narrower filter needs less", subject->path);
    else if (problem)
        hs_complain(arguments->command, "%s could not be written: %s; make room or choose another file with -o", path,
                    strerror(problem));
    return result || problem ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

static bool same_file(const char *a, const char *b)
{
    struct stat first;
    struct stat second;
    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int export(const struct hs_arguments *arguments)
{
    struct hs_opened opened;
    const char *path = hs_arguments__text(arguments, "output", "-");
    if (!hs_arguments__flag(arguments, "format")) {
        hs_complain(arguments->command, "needs --format; give one of: " HS_EXPORT_CHOICES);
        return HS_EXIT_USAGE;
    }
    if (same_file(path, arguments->operands[0])) {
        hs_complain(arguments->command, "%s is the trace itself; choose another file with -o", path);
        return HS_EXIT_USAGE;
    }
    int status = hs_opened__open(&opened, arguments);
    if (status)
        return status;
    status = write_export(arguments, &opened.subject, path);
    if (!is_standard_output(path))
        hs_trace_symbols__print_problems(opened.subject.symbols, stderr, 5);
    hs_opened__close(&opened);
    return status;
}

static const struct hs_option options[] = {
    {.name = "format",
     .kind = HS_OPTION_CHOICE,
     .argument = "FORMAT",
     .choices = HS_EXPORT_CHOICES,
     .help = "what to write; collapsed: one line per stack for other tools, flamegraph: an interactive SVG picture, "
             "json: every stack with all its numbers"},
    {.name = "output",
     .letter = 'o',
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .help = "where to write it, standard output when not given"},
    {.name = "cost",
     .letter = 'c',
     .kind = HS_OPTION_CHOICE,
     .argument = "COST",
     .choices = HS_COST_CHOICES,
     .help = "what the numbers of collapsed and flamegraph are, peak when not given"},
    {.name = "unit",
     .letter = 'u',
     .kind = HS_OPTION_CHOICE,
     .argument = "UNIT",
     .choices = "bytes count",
     .help = "bytes, or the number of blocks; bytes when not given"},
    HS_SUBJECT_OPTIONS,
    {0},
};

const struct hs_command hs_command_export = {
    .name = "export",
    .synopsis = "--format FORMAT [OPTIONS] FILE",
    .summary = "write a trace as a flame graph, as collapsed stacks or as JSON",
    .description = "Reads a trace and writes it in another format. The flame graph is one SVG file without anything "
                   "from outside: open it in a browser, click to zoom, Ctrl-F to search.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = export,
};
