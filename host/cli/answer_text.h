// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Answers of the server as text for people: tables, trees, names with their values.
#ifndef HEAPSONDE_HOST_CLI_ANSWER_TEXT_H
#define HEAPSONDE_HOST_CLI_ANSWER_TEXT_H

#include <stddef.h>
#include <stdio.h>

// Writes an answer. One that is not JSON is written as it is. `clock`: what the times in it count (hs_text__time_of). 0
// or -ENOMEM.
int hs_answer_text__write(const char *answer, size_t length, const char *clock, FILE *out);

#endif
