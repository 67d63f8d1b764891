// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Options of the profiler in a test; to be set before it starts.
#ifndef HEAPSONDE_TESTS_SAMPLER_PROGRAM_SIDE_H
#define HEAPSONDE_TESTS_SAMPLER_PROGRAM_SIDE_H

#include <stdbool.h>
#include <stdint.h>

extern uint64_t test_sample_bytes, test_seed;
extern bool test_accum;

#endif
