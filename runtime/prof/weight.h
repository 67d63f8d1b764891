// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The arithmetic of sampling in integers. The target half does not use floating point, because it runs where the
// floating-point registers belong to the program.
#ifndef HEAPSONDE_RUNTIME_PROF_WEIGHT_H
#define HEAPSONDE_RUNTIME_PROF_WEIGHT_H

#include <stdint.h>

#pragma GCC visibility push(hidden)
// A random distance: geometric with mean `mean` >= 1 bytes, at least 1. `random`: state of the generator.
uint64_t hs_weight__wait(uint64_t *random, uint64_t mean);

// 1 - e^(-bytes/mean), in 1/2^63: at most 2^63; exact to 2^-50.
uint64_t hs_weight__probability_q63(uint64_t bytes, uint64_t mean);

// 1 / (1 - e^(-bytes/mean)) in 1/65536: the number of blocks that a sampled block of `bytes` represents. 65536 if mean
// is 1.
uint64_t hs_weight__blocks_q16(uint64_t bytes, uint64_t mean);

// a * b / 2^shift with an intermediate result of 128 bits, shift 1..127; saturates.
uint64_t hs_weight__multiply(uint64_t a, uint64_t b, unsigned shift);

// a * b / c with an intermediate result of 128 bits; c != 0; saturates.
uint64_t hs_weight__scale(uint64_t a, uint64_t b, uint64_t c);
#pragma GCC visibility pop

#endif
