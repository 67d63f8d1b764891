// SPDX-License-Identifier: MIT OR Apache-2.0
//
// golden.txt, which second_wire.py writes: the same bytes come out of every build, whatever its byte order.
#include "wire_fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE = 5000 };

static FILE *golden;
static struct connection made;

static void setup(void)
{
    golden = fopen("golden.txt", "r");
    ck_assert_ptr_nonnull(golden);
    made = connect_with_key();
}

static void teardown(void)
{
    fclose(golden);
}

// The next line: a name, a number, and bytes in hexadecimal.
static bool next(char *name, unsigned *number, char *hex)
{
    return fscanf(golden, "%31s %u %4999s", name, number, hex) == 3;
}

static void check_bytes(const char *name, unsigned number, const uint8_t *bytes, size_t length, const char *hex)
{
    char text[LINE] = "";
    ck_assert_uint_lt(2 * length, sizeof text);
    for (size_t i = 0; i < length; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    ck_assert_msg(strcmp(text, hex) == 0, "%s %u: is %s, expected %s", name, number, text, hex);
}

static void check_frame(struct hs_wire_direction *direction, const char *name, unsigned length, const char *hex)
{
    static uint8_t frame[HS_WIRE_FRAME_MAX];
    size_t size = seal(direction, HS_WIRE_DATA, frame, length, length);
    if (length <= 2000)
        check_bytes(name, length, frame, size, hex);
    else // its tag
        check_bytes(name, length, frame + size - HS_WIRE_TAG_SIZE, HS_WIRE_TAG_SIZE, hex);
}

static void check_announcement(const char *name, unsigned length, const char *hex, bool with_key)
{
    uint8_t datagram[HS_ANNOUNCE_MAX], key[HS_WIRE_KEY_SIZE], nonce[12];
    hs_announce__derive(key, shared_key, SHARED_KEY_LENGTH);
    fill(nonce, sizeof nonce, 3);
    fill(datagram + HS_ANNOUNCE_HEADER_SIZE, length, length);
    size_t size = hs_announce__seal(datagram, length, with_key ? key : NULL, nonce);
    check_bytes(name, length, datagram, size, hex);
}

static void check_line(const char *name, unsigned number, const char *hex)
{
    static struct hs_wire_direction in_the_open;
    if (strcmp(name, "hello-device") == 0)
        check_bytes(name, number, made.device_hello, HS_WIRE_HELLO_SIZE, hex);
    else if (strcmp(name, "hello-host") == 0)
        check_bytes(name, number, made.host_hello, HS_WIRE_HELLO_SIZE, hex);
    else if (strcmp(name, "key-device") == 0)
        check_bytes(name, number, made.from_device.key, HS_WIRE_KEY_SIZE, hex);
    else if (strcmp(name, "key-host") == 0)
        check_bytes(name, number, made.from_host.key, HS_WIRE_KEY_SIZE, hex);
    else if (strcmp(name, "frame-device") == 0)
        check_frame(&made.from_device, name, number, hex);
    else if (strcmp(name, "frame-host") == 0)
        check_frame(&made.from_host, name, number, hex);
    else if (strcmp(name, "frame-open") == 0)
        check_frame(&in_the_open, name, number, hex);
    else if (strcmp(name, "announcement") == 0)
        check_announcement(name, number, hex, true);
    else if (strcmp(name, "announcement-open") == 0)
        check_announcement(name, number, hex, false);
    else
        ck_abort_msg("golden.txt: unknown line %s", name);
}

START_TEST(bytes_are_the_same_everywhere)
{
    char name[32], hex[LINE];
    unsigned number, lines = 0;
    for (; next(name, &number, hex); lines++)
        check_line(name, number, hex);
    ck_assert(feof(golden));
    ck_assert_uint_gt(lines, 50);
}
END_TEST

void add_golden_tests(Suite *suite)
{
    TCase *tests = tcase_create("golden");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, bytes_are_the_same_everywhere);
    suite_add_tcase(suite, tests);
}
