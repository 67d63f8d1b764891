// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How often a test repeats what is random. Where a processor is emulated, and with sanitizers, HEAPSONDE_TEST_SCALE
// divides it; scripts/soak sets HEAPSONDE_TEST_WHOLE, which undoes that.
#ifndef HEAPSONDE_TESTS_ROUNDS_H
#define HEAPSONDE_TESTS_ROUNDS_H

#include <stdlib.h>

__attribute__((no_instrument_function)) static inline unsigned test_rounds(unsigned whole)
{
    const char *given = getenv("HEAPSONDE_TEST_SCALE");
    unsigned scale = given && !getenv("HEAPSONDE_TEST_WHOLE") ? (unsigned)atoi(given) : 1;
    return scale > 1 ? (whole + scale - 1) / scale : whole;
}

#endif
