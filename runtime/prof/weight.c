// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/weight.h"

enum { LOG_BITS = 40, SERIES = 20, SMALL_MEAN = 1 << 14 };

#define ONE  (1ull << 63)
#define LN2  0x58b90bfbe8e7bcd5ull // ln 2 in 1/2^63
#define HALF 32768

struct wide {
    uint64_t high, low;
};

static struct wide multiply_wide(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (struct wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), left = (a >> 32) * (b & UINT32_MAX);
    uint64_t right = (a & UINT32_MAX) * (b >> 32), high = (a >> 32) * (b >> 32);
    uint64_t middle = (low >> 32) + (left & UINT32_MAX) + (right & UINT32_MAX);
    return (struct wide){high + (left >> 32) + (right >> 32) + (middle >> 32), middle << 32 | (low & UINT32_MAX)};
#endif
}

uint64_t hs_weight__multiply(uint64_t a, uint64_t b, unsigned shift)
{
    struct wide product = multiply_wide(a, b);
    if (shift >= 64)
        return product.high >> (shift - 64);
    return product.high >> shift ? UINT64_MAX : product.high << (64 - shift) | product.low >> shift;
}

uint64_t hs_weight__scale(uint64_t a, uint64_t b, uint64_t c)
{
    struct wide product = multiply_wide(a, b);
    if (product.high >= c)
        return UINT64_MAX;
    if (product.high == 0)
        return product.low / c;
    uint64_t rest = product.high, quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t carry = rest >> 63;
        rest = rest << 1 | (product.low >> bit & 1);
        quotient <<= 1;
        if (carry || rest >= c) {
            rest -= c;
            quotient |= 1;
        }
    }
    return quotient;
}

// splitmix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
static uint64_t random_bits(uint64_t *state)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    return mixed ^ mixed >> 31;
}

// -log2(number / 2^64) in 1/2^LOG_BITS, for number > 0. Each squaring of the mantissa yields one more bit of the
// logarithm.
static uint64_t minus_log2(uint64_t number)
{
    unsigned zeros = (unsigned)__builtin_clzll(number);
    uint64_t mantissa = number << zeros, fraction = 0; // [1, 2) in 1/2^63
    for (int i = 0; i < LOG_BITS; i++) {
        mantissa = multiply_wide(mantissa, mantissa).high; // [1, 4) in 1/2^62
        fraction = fraction << 1 | mantissa >> 63;
        if (!(mantissa >> 63))
            mantissa <<= 1;
    }
    return ((uint64_t)(zeros + 1) << LOG_BITS) - fraction;
}

// The quantile of the geometric distribution: floor(ln u / ln(1 - 1/mean)) + 1. For a large mean, -1 / ln(1 - 1/mean)
// is mean - 1/2 but for less than 1 / (11 mean).
uint64_t hs_weight__wait(uint64_t *random, uint64_t mean)
{
    if (mean <= 1)
        return 1;
    uint64_t uniform = random_bits(random);
    uint64_t logarithm = minus_log2(uniform ? uniform : 1);
    if (mean < SMALL_MEAN)
        return logarithm / minus_log2(-(UINT64_MAX / mean)) + 1;
    logarithm = hs_weight__multiply(logarithm, LN2, 63);
    uint64_t twice = mean > UINT64_MAX / 2 ? UINT64_MAX : 2 * mean - 1;
    uint64_t wait = hs_weight__multiply(logarithm, twice, LOG_BITS + 1);
    return wait < UINT64_MAX / 4 ? wait + 1 : UINT64_MAX / 4;
}

// e^-x for x in [0, ln 2], both in 1/2^63, by Horner's rule on 1 - x (1 - x/2 (1 - x/3 (...))).
static uint64_t exponential(uint64_t x)
{
    uint64_t sum = ONE;
    for (unsigned n = SERIES; n >= 1; n--)
        sum = ONE - hs_weight__multiply(x, sum, 63) / n;
    return sum;
}

uint64_t hs_weight__probability_q63(uint64_t bytes, uint64_t mean)
{
    if (bytes / mean >= 45)
        return ONE;
    uint64_t x = hs_weight__scale(bytes, 1ull << 57, mean); // in 1/2^57
    uint64_t halvings = x / (LN2 >> 6);
    uint64_t rest = (x - halvings * (LN2 >> 6)) << 6;
    return ONE - (exponential(rest < LN2 ? rest : LN2) >> halvings);
}

uint64_t hs_weight__blocks_q16(uint64_t bytes, uint64_t mean)
{
    if (mean <= 1 || bytes / mean >= 45)
        return 1ull << 16;
    if (bytes == 0)
        bytes = 1;
    // 1 / (1 - e^-t) = 1/t + 1/2 + t/12 - ... ; for a small t the difference 1 - e^-t has few digits.
    if (bytes < mean >> 10)
        return hs_weight__scale(mean, 1ull << 16, bytes) + HALF + hs_weight__scale(bytes, (1ull << 16) / 12, mean);
    return hs_weight__scale(ONE, 1ull << 16, hs_weight__probability_q63(bytes, mean));
}
