// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The golden trace in the folder of the test: golden.dat, and root/, the recorded machine's files.
#ifndef HEAPSONDE_TESTS_REPORT_GOLDEN_H
#define HEAPSONDE_TESTS_REPORT_GOLDEN_H

#include "command.h"

#include <jansson.h>

void make_golden(void);

// Runs "heapsonde ARGUMENTS" there, which must succeed, and compares its output with a file of the source folder.
void expect_output(const char *file, const char *arguments);

// Runs it and parses its output, or a file it wrote.
json_t *output_as_json(const char *arguments);
json_t *parse_json(const char *bytes, size_t length);
long long integer(const json_t *object, const char *key);

#endif
