// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whose socket the other end is, by tables of the kernel as little-endian and big-endian machines print them: each word
// of an address as the machine holds it.
#include "runtime/stream/peer.c" // for the reader of the table
#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LITTLE_ENDIAN_IPV4                                                                                             \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"               \
    "   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 20 4 30\n"   \
    "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 31338 1 0 20 4 30\n"   \
    "   2: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00000F2B 00000000  1002        0 0 3 0\n"
#define BIG_ENDIAN_IPV4                                                                                                \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"               \
    "   0: 7F000001:1F90 7F000001:C350 01 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 20 4 30\n"   \
    "   1: 7F000001:C350 7F000001:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 31338 1 0 20 4 30\n"   \
    "   2: 7F000001:C351 7F000001:1F90 06 00000000:00000000 03:00000F2B 00000000  1002        0 0 3 0\n"
#define LITTLE_ENDIAN_IPV6                                                                                             \
    "   0: B80D0120000000000000000001000000:C350 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 "          \
    "00:00000000 00000000  1003        0 31339 1 0 20 4 30\n"
#define BIG_ENDIAN_IPV6                                                                                                \
    "   0: 20010DB8000000000000000000000001:C350 00000000000000000000FFFF7F000001:1F90 01 00000000:00000000 "          \
    "00:00000000 00000000  1003        0 31339 1 0 20 4 30\n"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char *const own_ipv4 = LITTLE_ENDIAN_IPV4, *const other_ipv4 = BIG_ENDIAN_IPV4;
static const char *const own_ipv6 = LITTLE_ENDIAN_IPV6, *const other_ipv6 = BIG_ENDIAN_IPV6;
#else
static const char *const own_ipv4 = BIG_ENDIAN_IPV4, *const other_ipv4 = LITTLE_ENDIAN_IPV4;
static const char *const own_ipv6 = BIG_ENDIAN_IPV6, *const other_ipv6 = LITTLE_ENDIAN_IPV6;
#endif

static struct end end_of(const char *address, uint16_t port)
{
    struct end end = {.port = port};
    ck_assert_int_eq(inet_pton(AF_INET6, address, end.words), 1);
    return end;
}

// The user, or -1: the table does not have it.
static long look_up(const char *table, const char *peer, uint16_t peer_port, bool in_ipv6)
{
    char path[] = "/tmp/heapsonde-peer-XXXXXX", ends[ENDS];
    const struct end ends_of[] = {end_of(peer, peer_port), end_of("::ffff:127.0.0.1", 8080)};
    uint64_t user = 0;
    struct hs_text text;
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, table, strlen(table)) == (ssize_t)strlen(table));
    hs_text__start(&text, ends, sizeof ends);
    for (int i = 0; i < 2; i++) {
        add_end(&text, &ends_of[i], in_ipv6);
        hs_text__add_character(&text, ' ');
    }
    bool found = find_in_table(path, ends, &user);
    close(fd);
    unlink(path);
    return found ? (long)user : -1;
}

START_TEST(the_table_is_in_the_order_of_the_machine)
{
    ck_assert_int_eq(look_up(own_ipv4, "::ffff:127.0.0.1", 50000, false), 1001);
    ck_assert_int_eq(look_up(own_ipv4, "::ffff:127.0.0.1", 50001, false), -1); // it is closed
    ck_assert_int_eq(look_up(own_ipv4, "::ffff:127.0.0.1", 50002, false), -1);
    ck_assert_int_eq(look_up(own_ipv6, "2001:db8::1", 50000, true), 1003);
    ck_assert_int_eq(look_up(other_ipv4, "::ffff:127.0.0.1", 50000, false), -1);
    ck_assert_int_eq(look_up(other_ipv6, "2001:db8::1", 50000, true), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer");
    TCase *cases = tcase_create("peer");
    tcase_add_test(cases, the_table_is_in_the_order_of_the_machine);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
