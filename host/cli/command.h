// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sub-commands and their options, as data. Parsing, --help, the man page and the shell completion are all made from
// the one table in commands.c, so they cannot disagree.
#ifndef HEAPSONDE_HOST_CLI_COMMAND_H
#define HEAPSONDE_HOST_CLI_COMMAND_H

#include "host/filter/filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// HS_EXIT_CONDITION: what --fail-if names is so.
enum { HS_EXIT_OK = 0, HS_EXIT_FAILURE = 1, HS_EXIT_USAGE = 2, HS_EXIT_CONDITION = 3 };

enum hs_option_kind {
    HS_OPTION_FLAG,
    HS_OPTION_TEXT,
    HS_OPTION_FILE,
    HS_OPTION_INPUT,     // a file that exists
    HS_OPTION_DIRECTORY, // one that exists
    HS_OPTION_MAPPING,   // FROM=TO, with something before the sign
    HS_OPTION_NUMBER,    // a whole number
    HS_OPTION_SIZE,      // bytes: 4096, 64K, 1.5M, 2G
    HS_OPTION_DURATION,  // 2, 1.5s, 300ms, 20us, 2min: kept in nanoseconds
    HS_OPTION_PERCENT,
    HS_OPTION_CHOICE, // one of the words in `choices`
    HS_OPTION_FILTER  // of host/filter/parameters.h
};

struct hs_option {
    const char *name; // without the dashes; NULL ends an array
    char letter;      // 0: none
    enum hs_option_kind kind;
    const char *argument; // how the value is called in the help; NULL for flags
    const char *help;     // one sentence, no full stop
    const char *choices;  // HS_OPTION_CHOICE: words with one space between
    bool repeatable;
    bool optional;         // the value may be left out; it is given as --name=VALUE
    const char *parameter; // HS_OPTION_FILTER: its name there
    const char *only_with; // refused unless one of these options is given: names with spaces between
    // Sub-command `run`: the environment variable for the recorder, without its prefix, and the value of a flag,
    // or of an option whose own value is for the command.
    const char *variable;
    const char *flag_value;
};

enum hs_operand_kind {
    HS_OPERAND_NONE,
    HS_OPERAND_TRACE,
    HS_OPERAND_PROGRAM,
    HS_OPERAND_COMMAND,
    HS_OPERAND_CONTROL,
    HS_OPERAND_PROCESS,
    HS_OPERAND_ACTION // what to do, and on which database
};

struct hs_arguments;

struct hs_command {
    const char *name;
    const char *synopsis; // what follows the options
    const char *summary;  // one line
    const char *description;
    enum hs_operand_kind operand;
    int least_operands;
    int most_operands; // -1: any
    const struct hs_option *options;
    // NULL: all. The others are refused with a reason, and are not in the help, the manual and the completion.
    bool (*takes)(const struct hs_option *option);
    int (*run)(const struct hs_arguments *arguments); // returns the exit status
};

// For commands that read untrusted files; main.c sets the limit.
#define HS_MEMORY_OPTION                                                                                               \
    {                                                                                                                  \
        .name = HS_MEMORY, .kind = HS_OPTION_SIZE, .argument = "SIZE",                                                 \
        .help = "limit of memory, by default three quarters of the machine's; without this option, files that unpack " \
                "to many times their size are refused"                                                                 \
    }
#define HS_MEMORY "memory"

extern const struct hs_command *const hs_commands[]; // NULL ends it
const struct hs_command *hs_command__find(const char *name);

// Walks through the options that the command takes: the one after `option`, or the first one after NULL. NULL: no more.
const struct hs_option *hs_command__next(const struct hs_command *command, const struct hs_option *option);

// Says that there is no such command, and which one may have been meant. `command`: who says it, or NULL.
void hs_command__complain_unknown(const struct hs_command *command, const char *name);

// ---- what was given ------------------------------------------------------------------------------------------------

struct hs_given {
    const struct hs_option *option;
    const char *text;
    uint64_t number; // NUMBER, SIZE, DURATION
    double percent;
};

struct hs_arguments {
    const struct hs_command *command;
    struct hs_given *given;
    size_t given_count;
    struct hs_filter_parameters filter; // HS_OPTION_FILTER; times are since the start when nothing else is said
    int operand_count;
    char **operands; // NULL ends it
    uint64_t part;   // the instant of the first operand, a file of several dumps (host/dump/dump.h)
};

enum hs_parse_result { HS_PARSE_OK, HS_PARSE_HELP, HS_PARSE_WRONG };

// Parses what follows the sub-command's name (argv[0] is that name). On HS_PARSE_WRONG a line is on standard error.
enum hs_parse_result hs_arguments__parse(struct hs_arguments *arguments, const struct hs_command *command, int argc,
                                         char **argv);

// The same for words that are not all: any number of operands is right.
enum hs_parse_result hs_arguments__parse_some(struct hs_arguments *arguments, const struct hs_command *command,
                                              int argc, char **argv);
void hs_arguments__free(struct hs_arguments *arguments);

// The last value given for an option of the command, or NULL / false / `otherwise`.
const struct hs_given *hs_arguments__given(const struct hs_arguments *arguments, const char *name);
bool hs_arguments__flag(const struct hs_arguments *arguments, const char *name);
const char *hs_arguments__text(const struct hs_arguments *arguments, const char *name, const char *default_value);
uint64_t hs_arguments__number(const struct hs_arguments *arguments, const char *name, uint64_t default_value);
double hs_arguments__percent(const struct hs_arguments *arguments, const char *name, double default_value);
// All values of a repeatable option; the array is the caller's to free, its strings are not.
const char **hs_arguments__texts(const struct hs_arguments *arguments, const char *name, size_t *count);

// One line on standard error: "heapsonde NAME: ...".
void hs_complain(const struct hs_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
