// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers that are the same in every run, from a seed that a failing test names.
#ifndef HEAPSONDE_TESTS_RUNTIME_RANDOM_H
#define HEAPSONDE_TESTS_RUNTIME_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct random_numbers {
    uint64_t state;
};

static inline uint64_t random_next(struct random_numbers *random)
{
    random->state += 0x9e3779b97f4a7c15ull;
    uint64_t z = random->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static inline uint64_t random_below(struct random_numbers *random, uint64_t limit)
{
    return random_next(random) % limit;
}

// HEAPSONDE_TEST_SEED adds to every seed.
static inline struct random_numbers random_from(uint64_t seed)
{
    const char *extra = getenv("HEAPSONDE_TEST_SEED");
    seed += extra ? strtoull(extra, NULL, 0) : 0;
    printf("seed %llu\n", (unsigned long long)seed);
    return (struct random_numbers){seed};
}

#endif
