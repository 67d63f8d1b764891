// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The codec: what goes in comes out, by both ways of reading; any other bytes are refused or read within bounds.
#include "format/entropy.h"
#include "format/event_codec.h"
#include "format/event_model.h"
#include "tests/format/check_random.h"
#include "tests/rounds.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS HS_CODEC_MAX_EVENTS

static uint64_t words[MAX_WORDS];
static uint8_t output[HS_CODEC_MAX_OUTPUT];
static _Alignas(64) uint8_t scratch[HS_CODEC_SCRATCH_SIZE];
static struct hs_event direct[MAX_WORDS], decoded[MAX_WORDS], swapped[MAX_WORDS];

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { THIS_ORDER = HS_BYTE_ORDER_BIG, OTHER_ORDER = HS_BYTE_ORDER_LITTLE };
#else
enum { THIS_ORDER = HS_BYTE_ORDER_LITTLE, OTHER_ORDER = HS_BYTE_ORDER_BIG };
#endif
static const struct hs_codec_target targets[] = {
    {THIS_ORDER, 8, 4}, {THIS_ORDER, 4, 3}, {THIS_ORDER, 8, 0}, {THIS_ORDER, 8, 16}};

static void expect_equal(const struct hs_event *left, const struct hs_event *right, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(!memcmp(&left[i], &right[i], sizeof *left), "event %zu of %zu: kind %u and %u", i, count,
                      left[i].kind, right[i].kind);
}

#ifdef ON_THE_HOST
// Reads a payload as brief events and holds them against `decoded`.
static void expect_brief(const struct hs_codec_target *target, const uint8_t *payload, size_t length, size_t count,
                         int expected_damage)
{
    static struct hs_brief_event brief[MAX_WORDS];
    static struct hs_event wide[MAX_WORDS + 1];
    size_t wides, next = 0;
    int damaged;
    memset(scratch, 0x5a, sizeof scratch);
    memset(wide, 0x5a, (count + 1) * sizeof *wide);
    ck_assert_uint_eq(
        hs_events_decode_brief(target, payload, length, scratch, brief, MAX_WORDS, wide, &wides, &damaged), count);
    ck_assert_int_eq(!!damaged, !!expected_damage);
    for (size_t i = 0; i < count; i++) {
        const struct hs_event expected = {.time = brief[i].time,
                                          .address = brief[i].address,
                                          .size = brief[i].size,
                                          .usable = brief[i].usable,
                                          .stack = brief[i].stack,
                                          .kind = brief[i].kind};
        bool is_brief = brief[i].kind != HS_BRIEF_WIDE;
        ck_assert_uint_eq(hs_event_is_wide(&decoded[i]), !is_brief);
        ck_assert(is_brief || brief[i].size == next);
        expect_equal(is_brief ? &expected : &wide[next++], &decoded[i], 1);
    }
    ck_assert_uint_eq(wides, next);
}
#else
// Only the host reads brief events.
#define expect_brief(target, payload, length, count, expected_damage) ((void)(count))
#endif

// Encodes the first `length` words and reads them back in four ways: from the payload, also as brief events, from the
// records, and from the records in the other byte order. Returns the number of events.
static size_t round_trip(const struct hs_codec_target *target, size_t length, uint64_t base)
{
    static uint64_t other[MAX_WORDS];
    struct hs_encoded result;
    int damaged;
    memset(scratch, 0xa5, sizeof scratch);
    hs_events_encode(target, words, length, base, scratch, output, &result);
    size_t count = hs_records_decode(target, words, result.words, base, direct, MAX_WORDS, &damaged);
    ck_assert_int_eq(damaged, 0);
    for (size_t i = 0; i < result.words; i++)
        other[i] = __builtin_bswap64(words[i]);
    const struct hs_codec_target foreign = {OTHER_ORDER, target->pointer_size, target->address_shift};
    ck_assert_uint_eq(hs_records_decode(&foreign, other, result.words, base, swapped, MAX_WORDS, &damaged), count);
    expect_equal(direct, swapped, count);
    if (!result.length) {
        ck_assert_uint_eq(count, 0);
        return 0;
    }
    for (int fast = 0; fast < 2; fast++) {
        struct hs_encoded again;
        if (fast)
            hs_events_encode_fast(target, words, length, base, scratch, output, &again);
        memset(scratch, 0x5a, sizeof scratch);
        size_t bytes = fast ? again.length : result.length;
        ck_assert_uint_eq(hs_events_decode(target, output, bytes, scratch, decoded, MAX_WORDS, &damaged), count);
        ck_assert_int_eq(damaged, 0);
        expect_equal(direct, decoded, count);
        expect_brief(target, output, bytes, count, 0);
    }
    return count;
}

START_TEST(programs_survive)
{
    uint64_t seed = test_seed("programs_survive");
    unsigned rounds = test_rounds(24);
    for (unsigned round = 0; round < rounds; round++) {
        const struct hs_codec_target *target = &targets[round % 2];
        struct random_program program;
        size_t at = 0, used;
        random_program__make(&program, seed + round, 20000, 1, round % 3 == 0, target->pointer_size);
        while (at < program.count) {
            uint64_t base = program.event[at].time;
            size_t length =
                trace_records(target, program.event + at, program.count - at, base, words, MAX_WORDS, &used);
            ck_assert_uint_eq(round_trip(target, length, base), used);
            expect_equal(decoded, program.event + at, used);
            at += used;
        }
        random_program__free(&program);
    }
}
END_TEST

// Records of every kind with values that are random in magnitude, from nothing to all bits.
static uint64_t any_value(struct random_state *random)
{
    uint64_t value = random_next(random) >> random_below(random, 64);
    switch (random_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    default:
        return value;
    }
}

static size_t any_record(struct random_state *random, uint64_t *to, size_t room)
{
    static const uint8_t kinds[] = {1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13};
    static const uint8_t lengths[16] = {0, 1, 2, 2, 2, 3, 1, 0, 0, 2, 3, 3, 3, 4, 0, 0};
    unsigned kind = kinds[random_below(random, sizeof kinds)];
    uint64_t few = random_below(random, 2) ? random_below(random, 50) : random_next(random);
    uint64_t delta = random_below(random, 3) ? random_below(random, 400) : random_below(random, 0x10000);
    to[0] = kind | (few << 4 & 0xfffffffffff0) | delta << 48;
    size_t length = lengths[kind];
    if (kind == HS_RECORD_TIME)
        to[0] = kind | any_value(random) << 4;
    if (kind == HS_RECORD_WIDE) {
        length = 1 + (random_below(random, 20) ? random_below(random, 9) : random_below(random, 256));
        to[0] = kind | random_below(random, 14) << 4 | (length - 1) << 12 | delta << 48;
    }
    if (length > room)
        return 0;
    for (size_t i = 1; i < length; i++)
        to[i] = any_value(random);
    if (length > 1 && kind != HS_RECORD_WIDE && random_below(random, 2))
        to[1] = random_below(random, 100) | random_below(random, 30) << 32;
    return length;
}

START_TEST(any_records_survive)
{
    struct random_state random = {test_seed("any_records_survive")};
    unsigned rounds = test_rounds(600);
    for (unsigned round = 0; round < rounds; round++) {
        size_t length = 0, taken, limit = random_below(&random, 4) ? MAX_WORDS : random_below(&random, 40);
        while (length < limit && (taken = any_record(&random, words + length, limit - length)))
            length += taken;
        round_trip(&targets[round % 4], length, any_value(&random));
    }
}
END_TEST

START_TEST(noise_is_read_as_far_as_it_makes_sense)
{
    struct random_state random = {test_seed("noise")};
    unsigned rounds = test_rounds(200);
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < MAX_WORDS; i++)
            words[i] = random_next(&random) & (round % 2 ? UINT64_MAX : 0xffff0000ffff);
        round_trip(&targets[round % 4], MAX_WORDS, 0);
    }
}
END_TEST

START_TEST(a_slot_of_frees_fits)
{
    for (size_t i = 0; i < MAX_WORDS; i++)
        words[i] = HS_RECORD_FREE | (i * 0x9e3779b97f4a7c15 & 0xfffffffffff0) | 0xffffull << 48;
    ck_assert_uint_eq(round_trip(&targets[0], MAX_WORDS, 0), MAX_WORDS);
}
END_TEST

START_TEST(ends_where_the_records_end)
{
    memset(words, 0, sizeof words);
    ck_assert_uint_eq(round_trip(&targets[0], MAX_WORDS, 5), 0);
    words[0] = HS_RECORD_FREE | 0x1000;
    ck_assert_uint_eq(round_trip(&targets[0], MAX_WORDS, 5), 1);
    words[1] = 8;
    ck_assert_uint_eq(round_trip(&targets[0], MAX_WORDS, 5), 1);
    words[1] = HS_RECORD_MALLOC;
    ck_assert_uint_eq(round_trip(&targets[0], 2, 5), 1);
}
END_TEST

START_TEST(times_wrap_and_go_back)
{
    words[0] = HS_RECORD_TIME | UINT64_MAX << 4;
    words[1] = HS_RECORD_FREE | 0x10 | 0xffffull << 48;
    words[2] = HS_RECORD_TIME | 1 << 4;
    words[3] = HS_RECORD_FREE | 0x20;
    ck_assert_uint_eq(round_trip(&targets[0], 4, UINT64_MAX), 2);
    ck_assert_uint_eq(decoded[1].time, 1);
}
END_TEST

START_TEST(every_cut_is_noticed)
{
    struct random_program program;
    struct hs_encoded result;
    size_t used;
    int damaged;
    random_program__make(&program, 7, 2000, 1, true, 8);
    size_t length = trace_records(&targets[0], program.event, 2000, 0, words, MAX_WORDS, &used);
    hs_events_encode(&targets[0], words, length, 0, scratch, output, &result);
    for (size_t cut = 0; cut < result.length; cut++) {
        size_t count = hs_events_decode(&targets[0], output, cut, scratch, decoded, MAX_WORDS, &damaged);
        ck_assert_int_eq(damaged, 1);
        expect_brief(&targets[0], output, cut, count, 1);
    }
    random_program__free(&program);
}
END_TEST

START_TEST(flipped_bits_stay_within_bounds)
{
    struct random_state random = {test_seed("flipped_bits")};
    struct random_program program;
    struct hs_encoded result;
    size_t used;
    int damaged;
    random_program__make(&program, 7, 1500, 1, true, 8);
    size_t length = trace_records(&targets[0], program.event, 1500, 0, words, MAX_WORDS, &used);
    hs_events_encode(&targets[0], words, length, 0, scratch, output, &result);
    unsigned rounds = test_rounds(8000);
    for (unsigned round = 0; round < rounds; round++) {
        uint8_t *exact = malloc(result.length);
        memcpy(exact, output, result.length);
        for (uint64_t flips = 1 + random_below(&random, 4); flips; flips--)
            exact[random_below(&random, result.length)] ^= (uint8_t)(1u << random_below(&random, 8));
        size_t count = hs_events_decode(&targets[0], exact, result.length, scratch, decoded, MAX_WORDS, &damaged);
        ck_assert_uint_le(count, MAX_WORDS);
        expect_brief(&targets[0], exact, result.length, count, damaged);
        free(exact);
    }
    random_program__free(&program);
}
END_TEST

START_TEST(a_real_pattern_is_small)
{
    // A loop that allocates and frees a few blocks: well below the four bytes per event that traces may cost.
    struct hs_encoded result;
    size_t n = 0;
    for (unsigned i = 0; n + 6 < MAX_WORDS; i++) {
        words[n++] = HS_RECORD_MALLOC | 0x555555000 | (uint64_t)(90 + i % 7) << 48;
        words[n++] = 40 | 17ull << 32;
        words[n++] = HS_RECORD_MALLOC | 0x555555030 | (uint64_t)(70 + i % 5) << 48;
        words[n++] = 100 | 19ull << 32;
        words[n++] = HS_RECORD_FREE | 0x555555000 | 60ull << 48;
        words[n++] = HS_RECORD_FREE | 0x555555030 | 50ull << 48;
    }
    hs_events_encode(&targets[0], words, n, 0, scratch, output, &result);
    ck_assert_uint_lt(result.length, result.count);
}
END_TEST

START_TEST(numbers_have_symbols)
{
    for (unsigned bit = 0; bit < 64; bit++)
        for (int near = -2; near <= 2; near++) {
            uint64_t value = ((uint64_t)1 << bit) + (uint64_t)near;
            unsigned symbol = hs_number_symbol(value), extra = hs_number_extra_bits(symbol);
            ck_assert_uint_lt(symbol, 256);
            ck_assert(value - hs_number_base(symbol) <= (extra ? UINT64_MAX >> (64 - extra) : 0));
            ck_assert_uint_eq(hs_unzigzag(hs_zigzag(value)), value);
        }
}
END_TEST

START_TEST(entropy_stage_survives)
{
    static struct hs_entropy_scratch entropy;
    static uint8_t symbols[32 * 600], back[32 * 600], coded[200000];
    struct random_state random = {test_seed("entropy_stage")};
    unsigned rounds = test_rounds(1000);
    for (unsigned round = 0; round < rounds; round++) {
        struct hs_entropy_symbols in[32], out[32];
        uint8_t *at = symbols;
        unsigned columns = 1 + (unsigned)random_below(&random, 32);
        for (unsigned c = 0; c < columns; c++) {
            uint32_t count = (uint32_t)random_below(&random, random_below(&random, 3) ? 600 : 3);
            uint64_t range = 1 + random_below(&random, 256);
            bool skewed = random_below(&random, 2);
            in[c] = (struct hs_entropy_symbols){at, count};
            for (uint32_t i = 0; i < count; i++)
                *at++ =
                    skewed && random_below(&random, 50) ? (uint8_t)(range - 1) : (uint8_t)random_below(&random, range);
        }
        uint8_t *end = hs_entropy_encode(in, columns, &entropy, coded, coded + sizeof coded);
        ck_assert_ptr_nonnull(end);
        ck_assert_ptr_eq(hs_entropy_decode(out, columns, &entropy, back, sizeof back, coded, end), end);
        ck_assert(!memcmp(symbols, back, (size_t)(at - symbols)));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *tests = tcase_create("codec");
    tcase_add_test(tests, programs_survive);
    tcase_add_test(tests, any_records_survive);
    tcase_add_test(tests, noise_is_read_as_far_as_it_makes_sense);
    tcase_add_test(tests, a_slot_of_frees_fits);
    tcase_add_test(tests, ends_where_the_records_end);
    tcase_add_test(tests, times_wrap_and_go_back);
    tcase_add_test(tests, every_cut_is_noticed);
    tcase_add_test(tests, flipped_bits_stay_within_bounds);
    tcase_add_test(tests, a_real_pattern_is_small);
    tcase_add_test(tests, numbers_have_symbols);
    tcase_add_test(tests, entropy_stage_survives);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
