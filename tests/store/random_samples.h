// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel might have sampled of a random program.
#ifndef HEAPSONDE_TESTS_RANDOM_SAMPLES_H
#define HEAPSONDE_TESTS_RANDOM_SAMPLES_H

#include "tests/store/trace_writer.h"

enum { RANDOM_FIRST_TID = 4711, RANDOM_SILENT_TID = 9001 }; // of stream 0; of a thread that never allocates

// Events of one stream of their own, in the order of time: samples of CPU time, page faults in and around the program's
// blocks, and page faults with a stack. To be freed.
struct hs_event *random_samples__make(const struct random_program *program, struct random_state *random, size_t count);

#endif
