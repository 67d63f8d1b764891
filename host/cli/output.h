// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The output file of commands with the option -o.
#ifndef HEAPSONDE_HOST_CLI_OUTPUT_H
#define HEAPSONDE_HOST_CLI_OUTPUT_H

#include "host/cli/command.h"

#include <stdio.h>

// -o and --output, for a table of options.
#define HS_OUTPUT_OPTION                                                                                               \
    {                                                                                                                  \
        .name = "output", .letter = 'o', .kind = HS_OPTION_FILE, .argument = "FILE",                                   \
        .help = "the file to write; default standard output"                                                           \
    }

struct hs_output {
    FILE *out;
    const char *path;
    char *temporary; // NULL: written directly
};

// "-" is standard output.
bool hs_output__is_standard(const char *path);

// Returns 0, or the exit status after a line on standard error. Writes beside the target and renames, so that a failure
// leaves no half of a file and an old one intact. What is no regular file (a pipe, a device) is written directly.
int hs_output__open(struct hs_output *output, const struct hs_arguments *arguments, const char *path);
// The same of a trace: as recorders make them, for nobody else to read.
int hs_output__open_trace(struct hs_output *output, const struct hs_arguments *arguments, const char *path);

// With `keep` the file takes its place. The same of the result.
int hs_output__close(struct hs_output *output, const struct hs_arguments *arguments, bool keep);

// Whether both paths lead to one file that exists.
bool hs_same_file(const char *a, const char *b);

#endif
