// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The integer arithmetic of sampling against libm.
#include "runtime/prof/weight.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static const uint64_t means[] = {1, 2, 3, 10, 1000, 4096, 100000, 1 << 19, 1 << 24, 1ull << 40, 1ull << 63};
static const uint64_t sizes[] = {1, 8, 24, 100, 4096, 70000, 1 << 20, 1ull << 32, 1ull << 47};

#define EACH(array, i) (size_t i = 0; i < sizeof array / sizeof *array; i++)

START_TEST(products_and_quotients_have_128_bits)
{
    ck_assert_uint_eq(hs_weight__multiply(UINT64_MAX, UINT64_MAX, 64), UINT64_MAX - 1);
    ck_assert_uint_eq(hs_weight__multiply(1ull << 40, 1ull << 40, 20), 1ull << 60);
    ck_assert_uint_eq(hs_weight__multiply(1ull << 63, 4, 1), UINT64_MAX);
    ck_assert_uint_eq(hs_weight__multiply(UINT64_MAX, 1, 63), 1);
    ck_assert_uint_eq(hs_weight__scale(1ull << 63, 1ull << 62, 1ull << 63), 1ull << 62);
    ck_assert_uint_eq(hs_weight__scale(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(hs_weight__scale(UINT64_MAX, 10, 3), UINT64_MAX);
    ck_assert_uint_eq(hs_weight__scale(1000000007ull << 30, 998244353ull, 12345678901ull), 86820395094197408ull);
}
END_TEST

START_TEST(probabilities_are_those_of_libm)
{
    for
        EACH(means, m)
        for
            EACH(sizes, s)
            {
                double wanted = -expm1(-(double)sizes[s] / (double)means[m]);
                double got = (double)hs_weight__probability_q63(sizes[s], means[m]) / 0x1p63;
                ck_assert_msg(fabs(got - wanted) < 0x1p-50, "%g for %g of %g, wanted %g", got, (double)sizes[s],
                              (double)means[m], wanted);
            }
}
END_TEST

START_TEST(blocks_are_one_over_the_probability)
{
    for
        EACH(means, m)
        for
            EACH(sizes, s)
            {
                double wanted = means[m] == 1 ? 1 : -1 / expm1(-(double)sizes[s] / (double)means[m]);
                double got = (double)hs_weight__blocks_q16(sizes[s], means[m]) / 0x1p16;
                if (wanted < 0x1p47)
                    ck_assert_msg(fabs(got - wanted) < 0x1p-16 + wanted * 1e-9, "%g for %g of %g, wanted %g", got,
                                  (double)sizes[s], (double)means[m], wanted);
            }
}
END_TEST

START_TEST(waits_are_geometric)
{
    enum { DRAWS = 50000 };
    for (size_t m = 0; m < 9; m++) {
        uint64_t random = 1000 + m;
        double mean = (double)means[m], sum = 0, below = 0;
        for (int i = 0; i < DRAWS; i++) {
            uint64_t wait = hs_weight__wait(&random, means[m]);
            ck_assert_uint_ge(wait, 1);
            sum += (double)wait;
            below += (double)wait <= mean;
        }
        // The standard error of the mean is mean / sqrt(DRAWS), that of the share at most 1 / (2 sqrt(DRAWS)).
        ck_assert_double_eq_tol(sum / DRAWS, mean, 5 * mean / sqrt(DRAWS));
        double share = means[m] == 1 ? 1 : -expm1(mean * log1p(-1 / mean));
        ck_assert_double_eq_tol(below / DRAWS, share, 2.5 / sqrt(DRAWS));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weight");
    TCase *all = tcase_create("all");
    tcase_add_test(all, products_and_quotients_have_128_bits);
    tcase_add_test(all, probabilities_are_those_of_libm);
    tcase_add_test(all, blocks_are_one_over_the_probability);
    tcase_add_test(all, waits_are_geometric);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
