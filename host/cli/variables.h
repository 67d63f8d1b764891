// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The variables of the environment that heapsonde reads: one table for what `run` refuses, `heapsonde help variables`
// and docs/variables.md.
#ifndef HEAPSONDE_HOST_CLI_VARIABLES_H
#define HEAPSONDE_HOST_CLI_VARIABLES_H

#include "host/cli/command.h"

enum hs_variable_kind {
    HS_VARIABLE_SWITCH, // 1 or 0
    HS_VARIABLE_NUMBER,
    HS_VARIABLE_SIZE, // bytes: 4096, 64K, 1.5M, 2G
    HS_VARIABLE_TEXT,
    HS_VARIABLE_CHOICE,  // one of `values`
    HS_VARIABLE_LIST,    // of these, with commas between
    HS_VARIABLE_COUNTED, // one of these words; the first may be followed by a colon and a number
    HS_VARIABLE_ADDRESS, // ADDRESS:PORT in numbers
    HS_VARIABLE_PORT,
    HS_VARIABLE_LABELS,   // KEY=VALUE,...
    HS_VARIABLE_NO_EFFECT // another recorder's
};

enum hs_variable_reader { HS_READER_RECORDER, HS_READER_COMMAND };

struct hs_variable {
    const char *name; // without the prefix; NULL ends the table
    enum hs_variable_reader reader;
    enum hs_variable_kind kind;
    const char *values;   // words with one space between
    const char *argument; // how the value is called
    const char *help;
    uint64_t lowest, highest; // of a number; both 0: any
};

extern const struct hs_variable hs_variables[];

// The variable with this name (without prefix), or NULL.
const struct hs_variable *hs_variable__find(const char *name, size_t length);

// Says what is wrong with a value: a text after the name of the variable or option, such as "takes 1 or 0, not 'yes'".
// False when it is right. An empty value is as good as none.
bool hs_variable__problem(const struct hs_variable *variable, const char *value, char *text, size_t size);

// Says what is wrong with the first variable of those that the command reads. False when there is none.
bool hs_variables__problem_of_command(char *text, size_t size);

// Says what is wrong with the first variable in the environment of a recording that is unknown or has a wrong value.
// False when there is none.
bool hs_variables__problem(char **environment, char *text, size_t size);

#endif
