// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reading the values of options. Each returns false when the text is no such value.
#ifndef HEAPSONDE_HOST_CLI_VALUES_H
#define HEAPSONDE_HOST_CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

bool hs_value__number(const char *text, uint64_t *number);
bool hs_value__size(const char *text, uint64_t *bytes);
bool hs_value__duration(const char *text, uint64_t *nanoseconds);
bool hs_value__percent(const char *text, double *percent);
bool hs_value__choice(const char *text, const char *choices);
bool hs_value__file(const char *text);      // a regular file that can be read
bool hs_value__directory(const char *text); // a folder that can be searched

#endif
