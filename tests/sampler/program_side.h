// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_TESTS_SAMPLER_PROGRAM_SIDE_H
#define HEAPSONDE_TESTS_SAMPLER_PROGRAM_SIDE_H

// Sets the options of the profiler, before it starts, and a seed.
void test_options(const char *options);

#endif
