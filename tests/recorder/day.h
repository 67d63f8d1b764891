// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a trace of tests/programs/day has to say, beside the counter's numbers.
#ifndef HEAPSONDE_TESTS_RECORDER_DAY_H
#define HEAPSONDE_TESTS_RECORDER_DAY_H

#include "tests/recorder/harness.h"

// Every stack, every forgotten block at its time, the length of the recording, and the memory of the process. The
// folders are those of the run with the counter alone and of the recorded run, which has the counter, too; `output`:
// what the program printed. `memory`: the value of HEAPSONDE_MEMORY, or 0.
void day_check(const char *counted, const char *recorded, const char *output, uint64_t memory);

#endif
