// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What report and export have in common: opening a trace, its symbols, and the rows that were asked for.
#ifndef HEAPSONDE_HOST_CLI_SUBJECT_H
#define HEAPSONDE_HOST_CLI_SUBJECT_H

#include "host/cli/command.h"
#include "host/report/report.h"

// A subject with all that belongs to it.
struct hs_opened {
    struct hs_subject subject;
    struct hs_store *store;
    const char **sysroots;
    const char **debug_dirs;
    const char **source_maps;
    char *restriction;
    uint64_t *stack_words;
    uint64_t *stream_words;
};

// Opens the trace that the first operand names, as the options ask. Returns 0, or the exit status after a line on
// standard error.
int hs_opened__open(struct hs_opened *opened, const struct hs_arguments *arguments);
void hs_opened__close(struct hs_opened *opened);

// The options that it reads, for the arrays of the commands.
#define HS_SUBJECT_OPTIONS                                                                                             \
    {.name = "thread",                                                                                                 \
     .letter = 't',                                                                                                    \
     .kind = HS_OPTION_TEXT,                                                                                           \
     .argument = "NAME|TID",                                                                                           \
     .help = "only what this thread allocated",                                                                        \
     .repeatable = true},                                                                                              \
        {.name = "min-size", .kind = HS_OPTION_SIZE, .argument = "SIZE", .help = "only blocks of at least this size"}, \
        {.name = "max-size", .kind = HS_OPTION_SIZE, .argument = "SIZE", .help = "only blocks of at most this size"},  \
        {.name = "from",                                                                                               \
         .kind = HS_OPTION_DURATION,                                                                                   \
         .argument = "TIME",                                                                                           \
         .help = "only what was allocated this long after the start or later, such as 1.5s"},                          \
        {.name = "to",                                                                                                 \
         .kind = HS_OPTION_DURATION,                                                                                   \
         .argument = "TIME",                                                                                           \
         .help = "only what was allocated this long after the start or earlier"},                                      \
        {.name = "function",                                                                                           \
         .letter = 'f',                                                                                                \
         .kind = HS_OPTION_TEXT,                                                                                       \
         .argument = "REGEX",                                                                                          \
         .help = "only stacks with a function whose name matches this Perl regular expression"},                       \
        {.name = "sysroot",                                                                                            \
         .kind = HS_OPTION_DIRECTORY,                                                                                  \
         .argument = "DIR",                                                                                            \
         .help = "look for the recorded machine's files below this folder, a copy of its root",                        \
         .repeatable = true},                                                                                          \
        {.name = "debug-dir",                                                                                          \
         .letter = 'd',                                                                                                \
         .kind = HS_OPTION_DIRECTORY,                                                                                  \
         .argument = "DIR",                                                                                            \
         .help = "also look here for debug information and unstripped files, by build id and by name",                 \
         .repeatable = true},                                                                                          \
    {                                                                                                                  \
        .name = "source-map", .kind = HS_OPTION_MAPPING, .argument = "FROM=TO",                                        \
        .help = "write TO where the path of a source file begins with FROM", .repeatable = true                        \
    }

#endif
