// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/chunk.h"
#include "format/crc32c.h"
#include "format/meta.h"
#include "format/meta_codec.h"
#include "tests/format/check_random.h"
#include "tests/rounds.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) uint8_t scratch[HS_META_SCRATCH_SIZE];
static uint8_t memory[HS_SLOT_RECORDS_SIZE], packed[160 << 10], plain[HS_SLOT_RECORDS_SIZE];

START_TEST(checksum_is_crc32c)
{
    ck_assert_uint_eq(hs_crc32c(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(hs_crc32c(hs_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    ck_assert_uint_eq(hs_crc32c(0, "", 0), 0);
}
END_TEST

START_TEST(chunk_header_survives)
{
    struct hs_chunk_header header = {.kind = 3,
                                     .flags = 0,
                                     .stored_length = 5,
                                     .plain_length = 6,
                                     .stream = 7,
                                     .count = 8,
                                     .sequence = 1ull << 60,
                                     .first_time = 2ull << 50,
                                     .last_time = 9};
    struct hs_chunk_header back;
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    hs_chunk_seal(&header, "hello", bytes);
    ck_assert_int_eq(hs_chunk_read(bytes, &back), 0);
    ck_assert(!memcmp(&header, &back, sizeof back));
    for (unsigned bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(hs_chunk_read(bytes, &back), -1);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

START_TEST(records_survive)
{
    struct hs_meta_writer writer;
    struct hs_meta_reader reader;
    struct hs_meta_record record;
    memset(memory, 0, sizeof memory);
    hs_meta_begin(&writer, memory, sizeof memory);
    ck_assert(hs_meta_node(&writer, 5, 4, 0x400100));
    ck_assert(hs_meta_node(&writer, 6, 5, 0x3fff00));
    ck_assert(hs_meta_node(&writer, 9, 0, UINT64_MAX));
    ck_assert(hs_meta_module(&writer, 11, 1, 2, UINT64_MAX, "abc", 3, "/x", 2));
    ck_assert(hs_meta_layout(&writer, 0xfedcba98, UINT64_MAX));
    ck_assert(hs_meta_unload(&writer, 12, 1));
    ck_assert(hs_meta_thread(&writer, 3, 4, 5, "name", 4));
    ck_assert(hs_meta_clock(&writer, 1, 2, 3));
    ck_assert(hs_meta_info(&writer, "key", 3, "", 0));
    ck_assert(hs_meta_culled(&writer, 1, 2, 3, 4, 5));
    ck_assert(hs_meta_toggle(&writer, 7, true));
    ck_assert(hs_meta_mark(&writer, 8, 1, 99, "text", 4));
    ck_assert(hs_meta_code(&writer, &(struct hs_meta_code){.start = 0x7000,
                                                           .end = UINT64_MAX,
                                                           .first_line = UINT32_MAX,
                                                           .kind = 3,
                                                           .function = {(const uint8_t *)"f", 1},
                                                           .lines = {(const uint8_t *)"\0\x80", 2}}));
    hs_meta_open(&reader, memory, sizeof memory);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.id == 5 && record.parent == 4 && record.pc == 0x400100);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.id == 6 && record.parent == 5 && record.pc == 0x3fff00);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.id == 9 && record.parent == 0 && record.pc == UINT64_MAX);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_MODULE && record.bias == UINT64_MAX);
    ck_assert(record.build_id.length == 3 && record.text.length == 2 && !memcmp(record.text.data, "/x", 2));
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_LAYOUT && record.value == 0xfedcba98);
    ck_assert_uint_eq(record.inode, UINT64_MAX);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_UNLOAD && record.start == 1);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_THREAD && record.tid == 4);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_CLOCK && record.realtime_ns == 3);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_INFO && record.key.length == 3);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_CULLED && record.lifetime == 5);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_TOGGLE && record.value == 1);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_MARK && record.value == 99);
    ck_assert(record.text.length == 4);
    ck_assert(hs_meta_next(&reader, &record) == 1 && record.tag == HS_META_CODE && record.code.start == 0x7000);
    ck_assert(record.code.end == UINT64_MAX && record.code.first_line == UINT32_MAX && record.code.kind == 3);
    ck_assert(record.code.function.length == 1 && !record.code.file.length && record.code.lines.length == 2);
    ck_assert_int_eq(hs_meta_next(&reader, &record), 0);
}
END_TEST

START_TEST(a_record_that_does_not_fit_is_not_there)
{
    for (size_t room = 0; room < 60; room++) {
        struct hs_meta_writer writer;
        struct hs_meta_reader reader;
        struct hs_meta_record record;
        unsigned written = 0, read = 0;
        uint8_t *exact = calloc(1, room + 1);
        hs_meta_begin(&writer, exact, room);
        written += hs_meta_thread(&writer, 1, 2, 3, "abcdefgh", 8);
        written += hs_meta_node(&writer, 1000, 4, 0x7fff12345678);
        written += hs_meta_mark(&writer, 1, 2, 3, "mark", 4);
        written += hs_meta_node(&writer, 1001, 1000, 0x7fff12345679);
        hs_meta_open(&reader, exact, room);
        int more;
        while ((more = hs_meta_next(&reader, &record)) > 0)
            read++;
        ck_assert_int_eq(more, 0);
        ck_assert_uint_eq(read, written);
        free(exact);
    }
}
END_TEST

static size_t random_nodes(struct random_state *random, uint64_t addresses)
{
    struct hs_meta_writer writer;
    memset(memory, 0, sizeof memory);
    hs_meta_begin(&writer, memory, sizeof memory);
    uint32_t id = 1 + (uint32_t)random_below(random, 100000);
    for (;; id++) {
        uint32_t parent = random_below(random, 4) ? id - 1 : (uint32_t)random_below(random, id);
        if (!random_below(random, 300) && !hs_meta_thread(&writer, id, 1, 2, "worker", 6))
            break;
        if (!random_below(random, 500))
            id += 10;
        if (!hs_meta_node(&writer, id, parent, 0x400000 + 4096 * random_below(random, addresses)))
            break;
    }
    return (size_t)(writer.at - memory);
}

START_TEST(packing_survives)
{
    struct random_state random = {test_seed("packing_survives")};
    unsigned rounds = test_rounds(300);
    for (unsigned round = 0; round < rounds; round++) {
        size_t taken, length = random_nodes(&random, round % 2 ? 60 : 1000000);
        size_t size = hs_meta_pack(memory, sizeof memory, scratch, packed, sizeof packed, &taken);
        ck_assert_uint_eq(taken, length);
        ck_assert(size < length);
        if (!size)
            continue;
        ck_assert_int_eq(hs_meta_unpack(packed, size, scratch, plain, length), 0);
        ck_assert(!memcmp(plain, memory, length));
        ck_assert_int_eq(hs_meta_unpack(packed, size, scratch, plain, length - 1), -1);
        ck_assert_int_eq(hs_meta_unpack(packed, size - 1, scratch, plain, length), -1);
        for (unsigned flip = 0; flip < 20; flip++) {
            packed[random_below(&random, size)] ^= (uint8_t)(1u << random_below(&random, 8));
            hs_meta_unpack(packed, size, scratch, plain, length);
        }
    }
}
END_TEST

START_TEST(noise_is_refused)
{
    struct random_state random = {test_seed("noise_is_refused")};
    struct hs_meta_reader reader;
    struct hs_meta_record record;
    unsigned rounds = test_rounds(20000);
    for (unsigned round = 0; round < rounds; round++) {
        uint8_t noise[64];
        size_t taken, length = random_below(&random, sizeof noise);
        for (size_t i = 0; i < length; i++)
            noise[i] = (uint8_t)(random_below(&random, 3) ? random_below(&random, 12) : random_next(&random));
        hs_meta_open(&reader, noise, length);
        while (hs_meta_next(&reader, &record) > 0)
            continue;
        hs_meta_pack(noise, length, scratch, packed, sizeof packed, &taken);
        hs_meta_unpack(noise, length, scratch, plain, 100);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meta");
    TCase *tests = tcase_create("meta");
    tcase_add_test(tests, checksum_is_crc32c);
    tcase_add_test(tests, chunk_header_survives);
    tcase_add_test(tests, records_survive);
    tcase_add_test(tests, a_record_that_does_not_fit_is_not_there);
    tcase_add_test(tests, packing_survives);
    tcase_add_test(tests, noise_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
