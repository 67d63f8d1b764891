// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_TESTS_RECORDER_PROFILED_H
#define HEAPSONDE_TESTS_RECORDER_PROFILED_H

#include "tests/recorder/harness.h"

// `variables`, and what makes every allocation a sample; the bare run gets them, too. `dump`: a final dump is written.
char **profiled_variables(char *const variables[], bool dump);

// Runs a program under the sampling shim (path_shim) and compares it with its bare run, and its dumps with the counter.
void profiled_run(char *const variables[], char *const command[], const struct result *bare, bool compare_output,
                  bool compare_counts);

#endif
