// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Running the heapsonde command and looking at what it says.
#ifndef HEAPSONDE_TESTS_CLI_COMMAND_H
#define HEAPSONDE_TESTS_CLI_COMMAND_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

struct outcome {
    int status; // exit status, or 128 + signal
    char *output;
    size_t output_length;
    char *errors;
};

// The folder of one test.
extern char work[64];
void make_work(void);
void remove_work(void);

const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Runs a shell command line in the folder of the test; the command is $HEAPSONDE in it.
struct outcome run(const char *format, ...) __attribute__((format(printf, 1, 2)));
void free_outcome(struct outcome *outcome);

// Runs a shell command that must succeed.
void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The whole file, ended by a NUL; fails the test when it cannot be read.
char *read_file(const char *path, size_t *length);
void write_file(const char *path, const void *bytes, size_t length);

// Fails with the first line that differs. When HEAPSONDE_UPDATE_GOLDEN is set, the file gets the new text instead.
void compare_with_file(const char *path, const char *actual, size_t length);

// All that a test program does with its cases; its exit status.
int run_cases(const char *name, TCase *cases);

#endif
