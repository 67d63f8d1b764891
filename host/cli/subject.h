// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What report and export have in common: opening a trace or a heap dump, its symbols, and what was asked for of it.
#ifndef HEAPSONDE_HOST_CLI_SUBJECT_H
#define HEAPSONDE_HOST_CLI_SUBJECT_H

#include "host/cli/command.h"
#include "host/dump/view.h"
#include "host/report/digest.h"
#include "host/report/report.h"
#include "host/symbols/symbols.h"

// A subject with all that belongs to it.
struct hs_opened {
    struct hs_subject subject;
    struct hs_store *store;   // of a trace; NULL: a dump was opened
    struct hs_dump *dump;     // NULL: a trace was opened
    struct hs_dump_view view; // of the dump
    struct hs_symbols_options symbols_options;
    char *restriction;
    struct hs_filter_scope *scope;
    struct hs_resolved_filter filter; // of a dump: only its stacks
    uint8_t *threads;                 // of the dump: whether it was asked for; NULL: all
    struct hs_digest digest;          // when it has one
    bool is_difference;               // the subject is that of two dumps (host/dump/view.h) by its cost
    enum hs_cost difference_cost;
    bool has_digest; // of the subject's totals there is but the sum
};

// Opens the trace or the dump that the first operand names, as the options ask. Returns 0, or the exit status after a
// line on standard error.
int hs_opened__open(struct hs_opened *opened, const struct hs_arguments *arguments);
// The same for the text report, which can do with a digest.
int hs_opened__open_for_text(struct hs_opened *opened, const struct hs_arguments *arguments);
void hs_opened__close(struct hs_opened *opened);
// Returns 0, or the exit status after a line on standard error when a file was cut while it was read: what was made of
// it is worth nothing.
int hs_opened__check(const struct hs_opened *opened, const struct hs_arguments *arguments);

// The cost that the option asks for, else the usual one. Returns 0, or the exit status after a line on standard error
// when the file does not have it.
int hs_opened__cost(const struct hs_opened *opened, const struct hs_arguments *arguments, const char *option,
                    enum hs_cost *cost);

// What the symbol options say; to be freed.
int hs_symbols_options__read(struct hs_symbols_options *options, const struct hs_arguments *arguments);
void hs_symbols_options__free(struct hs_symbols_options *options);

// Reads a dump: the instant of arguments->part. The same of the result.
int hs_open_dump(struct hs_dump **dump, const struct hs_arguments *arguments, const char *path);

// Whether it is a folder of heap dumps of one process, or a file of several, which is one series.
bool hs_is_series(const char *path);
// The last of its dumps up to this time, such as 12s, 50% or peak; NULL: its last one. The caller frees `path`; `part`
// is the instant in this file. 0, or a negative errno with the error set; -EINVAL: the time makes no sense.
int hs_dump_of_series(const char *series, const char *at, char **path, uint64_t *part, struct hs_error *error);

// What was asked for of a dump. Valid until it is closed.
struct hs_dump_choice hs_opened__choice(const struct hs_opened *opened);

// Whether the file begins as traces do, or as what is made into one.
bool hs_is_trace(const char *path);

// Like hs_opened__open, for commands that accept only dumps.
int hs_opened__open_given(struct hs_opened *opened, const struct hs_arguments *arguments);

// private: dump_subject.c
int hs_opened__open_dump(struct hs_opened *opened, const struct hs_arguments *arguments, struct hs_error *error);

// The options that it reads, for the arrays of the commands.
#define HS_SYMBOL_OPTIONS                                                                                              \
    {.name = "sysroot",                                                                                                \
     .kind = HS_OPTION_DIRECTORY,                                                                                      \
     .argument = "DIR",                                                                                                \
     .help = "search files of the recorded machine below this folder, a copy of its root directory",                   \
     .repeatable = true},                                                                                              \
        {.name = "debug-dir",                                                                                          \
         .letter = 'd',                                                                                                \
         .kind = HS_OPTION_DIRECTORY,                                                                                  \
         .argument = "DIR",                                                                                            \
         .help = "also search this folder for debug information and unstripped files, by build id and by name; files " \
                 "directly in it may have any name",                                                                   \
         .repeatable = true},                                                                                          \
        {.name = "perf-map",                                                                                           \
         .kind = HS_OPTION_INPUT,                                                                                      \
         .argument = "FILE",                                                                                           \
         .help = "names of code that was made at run time: /tmp/perf-PID.map or jit-PID.dump, as runtimes write them " \
                 "for perf",                                                                                           \
         .repeatable = true},                                                                                          \
    {                                                                                                                  \
        .name = "source-map", .kind = HS_OPTION_MAPPING, .argument = "FROM=TO",                                        \
        .help = "replace FROM with TO at the start of paths of source files", .repeatable = true                       \
    }

// X of HS_FILTER_PARAMETERS.
#define HS_FILTER_OPTION(id, name_, option_, letter_, kind_, argument_, choices_, repeatable_, help_)                  \
    {.name = option_,                                                                                                  \
     .letter = letter_,                                                                                                \
     .kind = HS_OPTION_FILTER,                                                                                         \
     .argument = argument_,                                                                                            \
     .help = help_,                                                                                                    \
     .choices = choices_,                                                                                              \
     .repeatable = repeatable_,                                                                                        \
     .parameter = name_},

// The filters, some by a second name. `letter_`: of --function.
#define HS_FILTER_OPTIONS_WITH(letter_)                                                                                \
    HS_FILTER_PARAMETERS(HS_FILTER_OPTION){.name = "min-size",                                                         \
                                           .kind = HS_OPTION_FILTER,                                                   \
                                           .argument = "SIZE",                                                         \
                                           .help = "the same as --size-min",                                           \
                                           .parameter = "size_min"},                                                   \
        {.name = "max-size",                                                                                           \
         .kind = HS_OPTION_FILTER,                                                                                     \
         .argument = "SIZE",                                                                                           \
         .help = "the same as --size-max",                                                                             \
         .parameter = "size_max"},                                                                                     \
    {                                                                                                                  \
        .name = "function", .letter = letter_, .kind = HS_OPTION_FILTER, .argument = "REGEX",                          \
        .help = "the same as --function-regex", .parameter = "function_regex"                                          \
    }

#define HS_FILTER_OPTIONS HS_FILTER_OPTIONS_WITH('f')

#define HS_SUBJECT_OPTIONS HS_FILTER_OPTIONS, HS_SYMBOL_OPTIONS

#endif
