// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Random numbers for tests: the same in each run unless HEAPSONDE_TEST_SEED says otherwise; the seed is printed.
#ifndef HEAPSONDE_TESTS_CHECK_RANDOM_H
#define HEAPSONDE_TESTS_CHECK_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t test_seed(const char *test)
{
    const char *text = getenv("HEAPSONDE_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 20240607;
    printf("%s: HEAPSONDE_TEST_SEED=%llu\n", test, (unsigned long long)seed);
    return seed;
}

#endif
