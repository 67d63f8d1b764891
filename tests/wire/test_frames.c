// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Hellos, keys and frames, with every cipher that a build has.
#include "wire_fixture.h"

#include "tests/suite.h"

#include <stdlib.h>

static uint8_t frame[HS_WIRE_FRAME_MAX], other_frame[HS_WIRE_FRAME_MAX];

// ---- hellos ----

START_TEST(hello_is_read_as_it_was_written)
{
    for (unsigned security = HS_WIRE_OPEN; security <= HS_WIRE_SHARED_KEY; security++)
        for (unsigned role = HS_WIRE_DEVICE; role <= HS_WIRE_HOST; role++) {
            struct hs_wire_hello hello = {.role = (uint8_t)role, .security = (uint8_t)security}, read;
            uint8_t bytes[HS_WIRE_HELLO_SIZE];
            fill(hello.random, sizeof hello.random, role);
            hs_wire_hello__write(&hello, bytes);
            ck_assert(hs_wire_hello__read(bytes, &read));
            ck_assert_uint_eq(read.role, role);
            ck_assert_uint_eq(read.security, security);
            ck_assert_mem_eq(read.random, hello.random, sizeof hello.random);
        }
}
END_TEST

START_TEST(hello_with_another_value_is_refused)
{
    enum { ROLE_AT = 10, SECURITY_AT = 11, RANDOM_AT = 16 };
    for (unsigned at = 0; at < HS_WIRE_HELLO_SIZE; at++)
        for (unsigned value = 0; value < 256; value++) {
            struct hs_wire_hello hello;
            uint8_t bytes[HS_WIRE_HELLO_SIZE];
            say_hello(HS_WIRE_DEVICE, HS_WIRE_OPEN, 3, bytes);
            bool allowed = bytes[at] == value || at >= RANDOM_AT || (at == ROLE_AT && value == HS_WIRE_HOST) ||
                           (at == SECURITY_AT && value == HS_WIRE_SHARED_KEY);
            bytes[at] = (uint8_t)value;
            ck_assert_msg(hs_wire_hello__read(bytes, &hello) == allowed, "byte %u, value %u", at, value);
        }
}
END_TEST

// ---- keys ----

START_TEST(keys_depend_on_everything)
{
    struct connection made = connect_with_key(), again = connect_with_key();
    ck_assert_mem_eq(&made.from_device.key, &again.from_device.key, HS_WIRE_KEY_SIZE);
    ck_assert_int_ne(memcmp(made.from_device.key, made.from_host.key, HS_WIRE_KEY_SIZE), 0);
    for (unsigned at = 0; at < 2 * HS_WIRE_HELLO_SIZE + SHARED_KEY_LENGTH; at++) {
        struct connection changed = made;
        char key[SHARED_KEY_LENGTH];
        memcpy(key, shared_key, sizeof key);
        if (at < HS_WIRE_HELLO_SIZE)
            changed.device_hello[at] ^= 1;
        else if (at < 2 * HS_WIRE_HELLO_SIZE)
            changed.host_hello[at - HS_WIRE_HELLO_SIZE] ^= 1;
        else
            key[at - 2 * HS_WIRE_HELLO_SIZE] ^= 1;
        hs_wire__derive(&changed.from_device, &changed.from_host, key, sizeof key, changed.device_hello,
                        changed.host_hello);
        ck_assert_int_ne(memcmp(changed.from_device.key, made.from_device.key, HS_WIRE_KEY_SIZE), 0);
        ck_assert_int_ne(memcmp(changed.from_host.key, made.from_host.key, HS_WIRE_KEY_SIZE), 0);
    }
}
END_TEST

START_TEST(derivation_starts_anew)
{
    struct connection made = connect_with_key();
    made.from_device.frames = 7;
    made.from_host.encrypted = false;
    hs_wire__derive(&made.from_device, &made.from_host, shared_key, SHARED_KEY_LENGTH, made.device_hello,
                    made.host_hello);
    ck_assert_uint_eq(made.from_device.frames, 0);
    ck_assert(made.from_device.encrypted && made.from_host.encrypted);
}
END_TEST

// ---- frames ----

// Around the blocks of the cipher (64 bytes) and of the tag (16), with the four bytes of the kind before the payload.
static const size_t lengths[] = {0,  1,  3,  4,  11,  12,  13,  27,  28,  29,   44,   59,    60,    61,   63,
                                 64, 65, 76, 77, 123, 124, 125, 255, 256, 1000, 4096, 16380, 16383, 16384};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void check_round_trips(struct hs_wire_direction from, size_t around)
{
    struct hs_wire_direction to = from;
    for (unsigned i = 0; i < LENGTHS; i++) {
        enum hs_wire_kind kind;
        size_t length = 0, size = seal(&from, HS_WIRE_DATA, frame, lengths[i], i);
        ck_assert_uint_eq(size, lengths[i] + around);
        ck_assert_uint_eq(hs_wire__frame_size(&to, frame), size);
        ck_assert(hs_wire__open(&to, frame, size, &kind, &length));
        ck_assert_int_eq(kind, HS_WIRE_DATA);
        ck_assert_uint_eq(length, lengths[i]);
        check_payload(frame, length, i);
    }
    ck_assert_uint_eq(to.frames, LENGTHS);
}

START_TEST(frames_are_opened_as_they_were_sealed)
{
    struct connection made = connect_with_key();
    check_round_trips(made.from_device, PAYLOAD_AT + HS_WIRE_TAG_SIZE);
    check_round_trips(made.from_host, PAYLOAD_AT + HS_WIRE_TAG_SIZE);
    check_round_trips((struct hs_wire_direction){0}, PAYLOAD_AT);
}
END_TEST

START_TEST(nothing_of_the_payload_is_to_be_seen)
{
    struct connection made = connect_with_key();
    memset(frame + PAYLOAD_AT, 'a', 4096);
    size_t size = hs_wire__seal(&made.from_device, HS_WIRE_DATA, frame, 4096);
    for (size_t i = HS_WIRE_LENGTH_SIZE; i + 4 <= size; i++)
        ck_assert_int_ne(memcmp(frame + i, "aaaa", 4), 0);
    memset(other_frame + PAYLOAD_AT, 'a', 4096);
    hs_wire__seal(&made.from_device, HS_WIRE_DATA, other_frame, 4096);
    ck_assert_int_ne(memcmp(frame + HS_WIRE_LENGTH_SIZE, other_frame + HS_WIRE_LENGTH_SIZE, 16), 0);
}
END_TEST

START_TEST(every_changed_bit_is_refused)
{
    static const size_t sizes[] = {0, 1, 8, 12, 100};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct connection made = connect_with_key();
        struct hs_wire_direction to = made.from_device;
        size_t size = seal(&made.from_device, HS_WIRE_DATA, frame, sizes[i], i);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            memcpy(other_frame, frame, size);
            other_frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
            ck_assert_msg(!opens(&to, other_frame, size), "length %zu, bit %zu", sizes[i], bit);
        }
        ck_assert(opens(&to, frame, size)); // a forgery does not use up the number
    }
}
END_TEST

START_TEST(what_does_not_verify_is_not_handed_out)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction to = made.from_device;
    static uint8_t zeros[1000];
    size_t size = seal(&made.from_device, HS_WIRE_DATA, frame, sizeof zeros, 5);
    frame[size - 1] ^= 1;
    ck_assert(!opens(&to, frame, size));
    ck_assert_mem_eq(frame + PAYLOAD_AT, zeros, sizeof zeros);
}
END_TEST

START_TEST(order_matters)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction to = made.from_device;
    size_t size = seal(&made.from_device, HS_WIRE_DATA, frame, 20, 1);
    size_t other_size = seal(&made.from_device, HS_WIRE_DATA, other_frame, 20, 2);
    uint8_t copy[64];
    memcpy(copy, other_frame, other_size);
    ck_assert(!opens(&to, copy, other_size)); // the second one first, or the first one lost
    memcpy(copy, frame, size);
    ck_assert(opens(&to, copy, size));
    memcpy(copy, frame, size);
    ck_assert(!opens(&to, copy, size)); // the first one again
    ck_assert(opens(&to, other_frame, other_size));
}
END_TEST

START_TEST(reflected_frames_are_refused)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction from_host = made.from_host;
    size_t size = seal(&made.from_device, HS_WIRE_AUTH, frame, 0, 0);
    ck_assert(!opens(&from_host, frame, size));
}
END_TEST

START_TEST(other_keys_are_refused)
{
    struct connection made = connect_with_key(), other = connect_with("correct horse battery stapler", 29);
    size_t size = seal(&made.from_device, HS_WIRE_AUTH, frame, 0, 0);
    ck_assert(!opens(&other.from_device, frame, size));
}
END_TEST

// The same shared key, in a connection with hellos of its own.
START_TEST(frames_of_another_connection_are_refused)
{
    struct connection made = connect_with_key(), other = made;
    say_hello(HS_WIRE_HOST, HS_WIRE_SHARED_KEY, 9, other.host_hello);
    hs_wire__derive(&other.from_device, &other.from_host, shared_key, SHARED_KEY_LENGTH, other.device_hello,
                    other.host_hello);
    size_t size = seal(&made.from_device, HS_WIRE_AUTH, frame, 0, 0);
    ck_assert(!opens(&other.from_device, frame, size));
}
END_TEST

START_TEST(number_of_a_frame_has_64_bits)
{
    static const uint64_t numbers[] = {0xffffffff, 0x100000000, 0xfffffffffffffffe};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct connection made = connect_with_key();
        made.from_device.frames = numbers[i];
        struct hs_wire_direction to = made.from_device, low = made.from_device;
        low.frames = numbers[i] & 0xffffff;
        size_t size = seal(&made.from_device, HS_WIRE_DATA, frame, 10, 1);
        memcpy(other_frame, frame, size);
        ck_assert(!opens(&low, other_frame, size));
        ck_assert(opens(&to, frame, size));
        ck_assert_uint_eq(to.frames, numbers[i] + 1);
    }
}
END_TEST

static size_t frame_size(const struct hs_wire_direction *direction, uint32_t body)
{
    uint8_t length[HS_WIRE_LENGTH_SIZE];
    hs_wire__put(length, body, HS_WIRE_LENGTH_SIZE);
    return hs_wire__frame_size(direction, length);
}

START_TEST(lengths_have_limits)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction directions[] = {{0}, made.from_device};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t least = HS_WIRE_KIND_SIZE + i * HS_WIRE_TAG_SIZE, most = least + HS_WIRE_PAYLOAD_MAX;
        for (uint32_t body = 0; body < least; body++)
            ck_assert_uint_eq(frame_size(&directions[i], body), 0);
        ck_assert_uint_eq(frame_size(&directions[i], least), HS_WIRE_LENGTH_SIZE + least);
        ck_assert_uint_eq(frame_size(&directions[i], most), HS_WIRE_LENGTH_SIZE + most);
        ck_assert_uint_eq(frame_size(&directions[i], most + 1), 0);
        for (unsigned bit = 15; bit < 32; bit++)
            ck_assert_uint_eq(frame_size(&directions[i], 1u << bit), 0);
        ck_assert_uint_eq(frame_size(&directions[i], UINT32_MAX), 0);
        ck_assert_uint_eq(frame_size(&directions[i], UINT32_MAX - HS_WIRE_LENGTH_SIZE + 1), 0);
    }
    ck_assert_uint_eq(frame_size(&made.from_device, HS_WIRE_FRAME_MAX - HS_WIRE_LENGTH_SIZE), HS_WIRE_FRAME_MAX);
}
END_TEST

START_TEST(size_is_that_of_the_length)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction directions[] = {{0}, made.from_device};
    for (unsigned i = 0; i < 2; i++) {
        struct hs_wire_direction to = directions[i];
        size_t size = seal(&directions[i], HS_WIRE_DATA, frame, 50, 1);
        for (size_t other = 0; other < size + 20; other++) {
            memcpy(other_frame, frame, size);
            ck_assert(other == size || !opens(&to, other_frame, other));
        }
        ck_assert(opens(&to, frame, size));
    }
}
END_TEST

START_TEST(kind_has_one_byte)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction directions[] = {{0}, made.from_device};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned bit = 8; bit < 32; bit++) {
            struct hs_wire_direction from = directions[i], to = from;
            size_t size = hs_wire__seal(&from, (enum hs_wire_kind)(HS_WIRE_DATA | 1u << bit), frame, 0);
            ck_assert(!opens(&to, frame, size));
        }
}
END_TEST

START_TEST(unknown_kinds_are_opened)
{
    struct connection made = connect_with_key();
    struct hs_wire_direction to = made.from_device;
    enum hs_wire_kind kind = HS_WIRE_AUTH;
    size_t length, size = seal(&made.from_device, (enum hs_wire_kind)200, frame, 3, 1);
    ck_assert(hs_wire__open(&to, frame, size, &kind, &length));
    ck_assert_uint_eq(kind, 200);
}
END_TEST

static void add_tests(Suite *suite)
{
    TCase *tests = tcase_create("frames");
    tcase_add_test(tests, hello_is_read_as_it_was_written);
    tcase_add_test(tests, hello_with_another_value_is_refused);
    tcase_add_test(tests, keys_depend_on_everything);
    tcase_add_test(tests, derivation_starts_anew);
    tcase_add_test(tests, frames_are_opened_as_they_were_sealed);
    tcase_add_test(tests, nothing_of_the_payload_is_to_be_seen);
    tcase_add_test(tests, every_changed_bit_is_refused);
    tcase_add_test(tests, what_does_not_verify_is_not_handed_out);
    tcase_add_test(tests, order_matters);
    tcase_add_test(tests, reflected_frames_are_refused);
    tcase_add_test(tests, other_keys_are_refused);
    tcase_add_test(tests, frames_of_another_connection_are_refused);
    tcase_add_test(tests, number_of_a_frame_has_64_bits);
    tcase_add_test(tests, lengths_have_limits);
    tcase_add_test(tests, size_is_that_of_the_length);
    tcase_add_test(tests, kind_has_one_byte);
    tcase_add_test(tests, unknown_kinds_are_opened);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("wire");
    add_tests(suite);
    add_announcement_tests(suite);
    add_pair_tests(suite);
    add_golden_tests(suite);
    return run_suite(suite);
}
