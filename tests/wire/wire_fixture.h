// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A connection with a known key and known hellos, and frames in it.
#ifndef HEAPSONDE_TESTS_WIRE_FIXTURE_H
#define HEAPSONDE_TESTS_WIRE_FIXTURE_H

#include "format/wire.h"

#include <check.h>
#include <string.h>

static const char shared_key[] = "correct horse battery staple";
enum { SHARED_KEY_LENGTH = sizeof shared_key - 1, PAYLOAD_AT = HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE };

struct connection {
    uint8_t device_hello[HS_WIRE_HELLO_SIZE], host_hello[HS_WIRE_HELLO_SIZE];
    struct hs_wire_direction from_device, from_host;
};

static inline void fill(uint8_t *data, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        data[i] = (uint8_t)(i * 7 + seed);
}

static inline void say_hello(uint8_t role, uint8_t security, unsigned seed, uint8_t bytes[HS_WIRE_HELLO_SIZE])
{
    struct hs_wire_hello hello = {.role = role, .security = security};
    fill(hello.random, sizeof hello.random, seed);
    hs_wire_hello__write(&hello, bytes);
}

static inline struct connection connect_with(const char *key, size_t key_length)
{
    struct connection made;
    memset(&made, 0, sizeof made);
    say_hello(HS_WIRE_DEVICE, HS_WIRE_SHARED_KEY, 1, made.device_hello);
    say_hello(HS_WIRE_HOST, HS_WIRE_SHARED_KEY, 2, made.host_hello);
    hs_wire__derive(&made.from_device, &made.from_host, key, key_length, made.device_hello, made.host_hello);
    return made;
}

static inline struct connection connect_with_key(void)
{
    return connect_with(shared_key, SHARED_KEY_LENGTH);
}

static inline size_t seal(struct hs_wire_direction *direction, enum hs_wire_kind kind, uint8_t *frame, size_t length,
                          unsigned seed)
{
    fill(frame + PAYLOAD_AT, length, seed);
    return hs_wire__seal(direction, kind, frame, length);
}

static inline void check_payload(const uint8_t *frame, size_t length, unsigned seed)
{
    static uint8_t expected[HS_WIRE_PAYLOAD_MAX];
    fill(expected, length, seed);
    ck_assert_mem_eq(frame + PAYLOAD_AT, expected, length);
}

static inline bool opens(struct hs_wire_direction *direction, uint8_t *frame, size_t size)
{
    enum hs_wire_kind kind;
    size_t length;
    return hs_wire__open(direction, frame, size, &kind, &length);
}

void add_announcement_tests(Suite *suite);
void add_pair_tests(Suite *suite);
void add_golden_tests(Suite *suite);

#endif
