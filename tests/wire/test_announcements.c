// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Announcements, and pairs of strings.
#include "wire_fixture.h"

enum { BODY = 100, AROUND = HS_ANNOUNCE_HEADER_SIZE + HS_WIRE_TAG_SIZE };

static const uint8_t nonce[12] = "a new number";
static uint8_t key[HS_WIRE_KEY_SIZE], datagram[HS_ANNOUNCE_MAX + 64];

static void setup(void)
{
    hs_announce__derive(key, shared_key, SHARED_KEY_LENGTH);
}

static size_t announce(size_t body_length, const uint8_t *with_key)
{
    fill(datagram + HS_ANNOUNCE_HEADER_SIZE, body_length, 1);
    return hs_announce__seal(datagram, body_length, with_key, nonce);
}

static void check_body(size_t length)
{
    uint8_t expected[HS_ANNOUNCE_MAX];
    fill(expected, length, 1);
    ck_assert_mem_eq(datagram + HS_ANNOUNCE_HEADER_SIZE, expected, length);
}

START_TEST(announcements_are_opened_as_they_were_sealed)
{
    for (size_t length = HS_ANNOUNCE_BODY_MIN; length <= HS_ANNOUNCE_MAX - AROUND; length++) {
        ck_assert_uint_eq(announce(length, key), length + AROUND);
        ck_assert_int_eq(hs_announce__open(datagram, length + AROUND, key), (long)length);
        check_body(length);
        ck_assert_uint_eq(announce(length, NULL), length + HS_ANNOUNCE_HEADER_SIZE);
        check_body(length);
        ck_assert_int_eq(hs_announce__open(datagram, length + HS_ANNOUNCE_HEADER_SIZE, NULL), (long)length);
    }
}
END_TEST

START_TEST(announcement_with_a_changed_bit_is_refused)
{
    size_t size = announce(BODY, key);
    uint8_t copy[AROUND + BODY];
    for (size_t bit = 0; bit < 8 * size; bit++) {
        memcpy(copy, datagram, size);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_msg(hs_announce__open(copy, size, key) == -1, "bit %zu", bit);
    }
    ck_assert_int_eq(hs_announce__open(datagram, size, key), BODY);
}
END_TEST

START_TEST(announcement_of_another_size_is_refused)
{
    size_t size = announce(BODY, key);
    uint8_t copy[AROUND + BODY + 20];
    for (size_t other = 0; other < sizeof copy; other++) {
        memcpy(copy, datagram, sizeof copy);
        ck_assert(other == size || hs_announce__open(copy, other, key) == -1);
    }
}
END_TEST

START_TEST(announcements_have_limits)
{
    size_t size = announce(HS_ANNOUNCE_BODY_MIN - 1, key);
    ck_assert_int_eq(hs_announce__open(datagram, size, key), -1);
    size = announce(HS_ANNOUNCE_BODY_MIN - 1, NULL);
    ck_assert_int_eq(hs_announce__open(datagram, size, NULL), -1);
    size = announce(HS_ANNOUNCE_MAX - AROUND + 1, key);
    ck_assert_int_eq(hs_announce__open(datagram, size, key), -1);
    size = announce(HS_ANNOUNCE_MAX - HS_ANNOUNCE_HEADER_SIZE + 1, NULL);
    ck_assert_int_eq(hs_announce__open(datagram, size, NULL), -1);
}
END_TEST

START_TEST(announcements_of_others_are_refused)
{
    uint8_t other[HS_WIRE_KEY_SIZE];
    hs_announce__derive(other, shared_key, SHARED_KEY_LENGTH - 1);
    ck_assert_int_eq(hs_announce__open(datagram, announce(BODY, other), key), -1);
    ck_assert_int_eq(hs_announce__open(datagram, announce(BODY, NULL), key), -1);
    ck_assert_int_eq(hs_announce__open(datagram, announce(BODY, key), NULL), -1);
    struct connection made = connect_with_key();
    ck_assert_int_ne(memcmp(key, made.from_device.key, sizeof key), 0);
}
END_TEST

void add_announcement_tests(Suite *suite)
{
    TCase *tests = tcase_create("announcements");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, announcements_are_opened_as_they_were_sealed);
    tcase_add_test(tests, announcement_with_a_changed_bit_is_refused);
    tcase_add_test(tests, announcement_of_another_size_is_refused);
    tcase_add_test(tests, announcements_have_limits);
    tcase_add_test(tests, announcements_of_others_are_refused);
    suite_add_tcase(suite, tests);
}

// ---- pairs ----

static void check_text(struct hs_wire_text text, const char *expected)
{
    ck_assert_uint_eq(text.length, strlen(expected));
    ck_assert_mem_eq(text.data, expected, text.length);
}

// "name" and "gw 7", nothing and nothing, "since" and "0".
static size_t write_three(uint8_t *to, size_t room)
{
    uint8_t *at = to;
    ck_assert(hs_wire_pair__write(&at, to + room, "name", "gw 7", 4));
    ck_assert(hs_wire_pair__write(&at, to + room, "", "", 0));
    ck_assert(hs_wire_pair__write(&at, to + room, "since", "0", 1));
    return (size_t)(at - to);
}

START_TEST(pairs_are_read_as_they_were_written)
{
    uint8_t bytes[64];
    const uint8_t *at = bytes, *end = bytes + write_three(bytes, sizeof bytes);
    struct hs_wire_text name, value;
    ck_assert_int_eq(end - at, 12 + 4 + 10);
    ck_assert(hs_wire_pair__read(&at, end, &name, &value));
    check_text(name, "name");
    check_text(value, "gw 7");
    ck_assert(hs_wire_pair__read(&at, end, &name, &value));
    check_text(name, "");
    check_text(value, "");
    ck_assert(hs_wire_pair__read(&at, end, &name, &value));
    check_text(name, "since");
    check_text(value, "0");
    ck_assert(!hs_wire_pair__read(&at, end, &name, &value));
    ck_assert_ptr_eq(at, end);
}
END_TEST

START_TEST(pairs_end_where_they_are_cut)
{
    uint8_t bytes[64];
    size_t length = write_three(bytes, sizeof bytes);
    for (size_t cut = 0; cut < length; cut++) {
        const uint8_t *at = bytes;
        struct hs_wire_text name, value;
        unsigned count = 0;
        while (hs_wire_pair__read(&at, bytes + cut, &name, &value))
            count++;
        ck_assert_uint_eq(count, (cut >= 12) + (cut >= 16));
    }
}
END_TEST

START_TEST(pairs_that_do_not_fit_are_not_written)
{
    for (size_t room = 0; room < 12; room++) {
        uint8_t bytes[16], before[16];
        memset(bytes, 'x', sizeof bytes);
        memcpy(before, bytes, sizeof bytes);
        uint8_t *at = bytes;
        ck_assert(!hs_wire_pair__write(&at, bytes + room, "name", "gw 7", 4));
        ck_assert_ptr_eq(at, bytes);
        ck_assert_mem_eq(bytes, before, sizeof bytes);
    }
}
END_TEST

START_TEST(strings_have_16_bits_of_length)
{
    static uint8_t bytes[4 * 65536];
    static char text[65537];
    uint8_t *at = bytes;
    memset(text, 'k', 65536);
    ck_assert(!hs_wire_pair__write(&at, bytes + sizeof bytes, "", text, 65536));
    ck_assert(!hs_wire_pair__write(&at, bytes + sizeof bytes, text, "", 0));
    ck_assert_ptr_eq(at, bytes);
    ck_assert(hs_wire_pair__write(&at, bytes + sizeof bytes, text + 1, text, 65535));
    ck_assert_int_eq(at - bytes, 4 + 2 * 65535);
    struct hs_wire_text name, value;
    const uint8_t *from = bytes;
    ck_assert(hs_wire_pair__read(&from, at, &name, &value));
    ck_assert_uint_eq(name.length, 65535);
    ck_assert_uint_eq(value.length, 65535);
}
END_TEST

void add_pair_tests(Suite *suite)
{
    TCase *tests = tcase_create("pairs");
    tcase_add_test(tests, pairs_are_read_as_they_were_written);
    tcase_add_test(tests, pairs_end_where_they_are_cut);
    tcase_add_test(tests, pairs_that_do_not_fit_are_not_written);
    tcase_add_test(tests, strings_have_16_bits_of_length);
    suite_add_tcase(suite, tests);
}
