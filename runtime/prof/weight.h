// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The arithmetic of sampling in integers: the target half uses no floating point, since programs may call on stacks and
// in places where its registers are not ours.
#ifndef HEAPSONDE_RUNTIME_PROF_WEIGHT_H
#define HEAPSONDE_RUNTIME_PROF_WEIGHT_H

#include <stdint.h>

#pragma GCC visibility push(hidden)
// A random wait: geometric with mean `mean` >= 1 bytes, at least 1. `random`: state of the generator.
uint64_t hs_weight__wait(uint64_t *random, uint64_t mean);

// 64 random bits.
uint64_t hs_weight__random(uint64_t *state);

// 1 - e^(-bytes/mean), in 1/2^63: at most 2^63; exact to 2^-50.
uint64_t hs_weight__probability_q63(uint64_t bytes, uint64_t mean);

// 1 / (1 - e^(-bytes/mean)) in 1/65536: how many blocks a sampled one of `bytes` stands for. 65536 where mean is 1.
uint64_t hs_weight__blocks_q16(uint64_t bytes, uint64_t mean);

// a * b / 2^shift with 128 bits in between, shift 1..127; saturates.
uint64_t hs_weight__multiply(uint64_t a, uint64_t b, unsigned shift);

// a * b / c with 128 bits in between; c != 0; saturates.
uint64_t hs_weight__scale(uint64_t a, uint64_t b, uint64_t c);
#pragma GCC visibility pop

#endif
