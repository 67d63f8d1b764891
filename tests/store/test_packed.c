// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Packed columns against the numbers they were made of.
#include "host/store/packed.h"
#include "tests/format/check_random.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST (3 * HS_PACKED_BLOCK)

static char folder[] = "/tmp/heapsonde-packed-XXXXXX";
static int folder_fd;

static void make_folder(void)
{
    strcpy(folder, "/tmp/heapsonde-packed-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(folder_fd, 0);
}

static void remove_folder(void)
{
    unlinkat(folder_fd, "numbers", 0);
    close(folder_fd);
    ck_assert_int_eq(rmdir(folder), 0);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ *state >> 29;
}

// Numbers of random width, scale and start, some of which stand out.
static void make_numbers(uint64_t *random, uint64_t *numbers, size_t count)
{
    unsigned bits = (unsigned)(next(random) % 65), scale = (unsigned)(next(random) % 12);
    unsigned rare = 1 + (unsigned)(next(random) % 300);
    uint64_t base = next(random) >> next(random) % 64, mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = base + ((next(random) & mask) << scale);
        if (next(random) % rare == 0 && rare > 1)
            numbers[i] = next(random) >> next(random) % 64;
    }
}

static void write_numbers(const uint64_t *numbers, size_t count)
{
    struct hs_packed_writer writer;
    uint64_t block[HS_PACKED_BLOCK];
    unlinkat(folder_fd, "numbers", 0);
    ck_assert_int_eq(hs_packed_writer__create(&writer, folder_fd, "numbers"), 0);
    for (size_t at = 0; at < count; at += HS_PACKED_BLOCK) {
        size_t here = count - at < HS_PACKED_BLOCK ? count - at : HS_PACKED_BLOCK;
        memcpy(block, numbers + at, here * sizeof *block);
        hs_packed_writer__add(&writer, block, here);
    }
    ck_assert_int_eq(hs_packed_writer__finish(&writer), 0);
}

static void expect_numbers(const uint64_t *numbers, size_t count)
{
    struct hs_packed packed;
    uint64_t block[HS_PACKED_BLOCK];
    ck_assert_int_eq(hs_packed__open(&packed, folder_fd, "numbers", count + 1), -EBADMSG);
    ck_assert_int_eq(hs_packed__open(&packed, folder_fd, "numbers", count), 0);
    for (size_t i = 0; i < count; i++)
        if (hs_packed__at(&packed, i) != numbers[i])
            ck_abort_msg("number %zu of %zu", i, count);
    for (size_t at = 0; at < count; at += HS_PACKED_BLOCK) {
        size_t here = hs_packed__read_block(&packed, at / HS_PACKED_BLOCK, block);
        ck_assert_uint_eq(here, count - at < HS_PACKED_BLOCK ? count - at : HS_PACKED_BLOCK);
        ck_assert_mem_eq(block, numbers + at, here * sizeof *block);
    }
    hs_packed__close(&packed);
}

START_TEST(numbers_come_back)
{
    static uint64_t numbers[MOST];
    uint64_t random = test_seed("numbers_come_back");
    for (unsigned round = 0; round < 300; round++) {
        size_t count = next(&random) % (MOST + 1);
        for (size_t at = 0; at < count; at += HS_PACKED_BLOCK)
            make_numbers(&random, numbers + at, count - at < HS_PACKED_BLOCK ? count - at : HS_PACKED_BLOCK);
        write_numbers(numbers, count);
        expect_numbers(numbers, count);
    }
}
END_TEST

START_TEST(numbers_at_the_edge_of_a_width_come_back)
{
    static uint64_t numbers[HS_PACKED_BLOCK];
    for (unsigned bits = 1; bits < 64; bits++) {
        for (size_t i = 0; i < HS_PACKED_BLOCK; i++)
            numbers[i] = ((uint64_t)1 << bits) - (i != 7);
        write_numbers(numbers, HS_PACKED_BLOCK);
        expect_numbers(numbers, HS_PACKED_BLOCK);
        for (size_t i = 0; i < HS_PACKED_BLOCK; i++)
            numbers[i] = i == 7 ? 0 : ((uint64_t)1 << bits) - 1;
        write_numbers(numbers, HS_PACKED_BLOCK);
        expect_numbers(numbers, HS_PACKED_BLOCK);
    }
}
END_TEST

// Blocks of every length, numbers of every width, and some of another width among them.
START_TEST(exceptions_of_every_width_come_back)
{
    static uint64_t numbers[HS_PACKED_BLOCK];
    uint64_t random = test_seed("exceptions_of_every_width_come_back");
    for (unsigned narrow = 1; narrow < 64; narrow += 1 + narrow % 2)
        for (unsigned wide = narrow + 1; wide <= 64; wide += 3) {
            size_t count = 1 + next(&random) % HS_PACKED_BLOCK;
            for (size_t i = 0; i < count; i++)
                numbers[i] = next(&random) >> (next(&random) % 97 ? 64 - narrow : 64 - wide);
            numbers[0] = UINT64_MAX >> (64 - wide);
            write_numbers(numbers, count);
            expect_numbers(numbers, count);
        }
}
END_TEST

START_TEST(numbers_take_as_many_bits_as_they_need)
{
    static uint64_t numbers[HS_PACKED_BLOCK];
    struct stat status;
    for (unsigned bits = 1; bits <= 57; bits++) {
        for (size_t i = 0; i < HS_PACKED_BLOCK; i++)
            numbers[i] = i % 2 ? ((uint64_t)1 << bits) - 1 : i % 4 / 2;
        write_numbers(numbers, HS_PACKED_BLOCK);
        ck_assert_int_eq(fstatat(folder_fd, "numbers", &status, 0), 0);
        ck_assert_int_le(status.st_size, HS_PACKED_BLOCK / 8 * bits + 100);
    }
}
END_TEST

START_TEST(narrow_numbers_take_few_bytes)
{
    static uint64_t numbers[MOST];
    struct stat status;
    for (size_t i = 0; i < MOST; i++)
        numbers[i] = 0x7f0000000000 + 16 * (i % 200) + (i % 1000 == 0) * ((uint64_t)1 << 40);
    write_numbers(numbers, MOST);
    ck_assert_int_eq(fstatat(folder_fd, "numbers", &status, 0), 0);
    ck_assert_int_lt(status.st_size, MOST + 1000);
}
END_TEST

// A damaged file is refused or gives other numbers, and nothing else happens.
START_TEST(damage_is_survived)
{
    static uint64_t numbers[MOST];
    uint64_t random = test_seed("damage_is_survived"), block[HS_PACKED_BLOCK];
    make_numbers(&random, numbers, MOST);
    write_numbers(numbers, MOST);
    int fd = openat(folder_fd, "numbers", O_RDWR);
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    for (unsigned round = 0; round < 500; round++) {
        off_t at = status.st_size - 1 - (off_t)(next(&random) % 256);
        uint8_t old, bad = (uint8_t)next(&random);
        struct hs_packed packed;
        ck_assert_int_eq(pread(fd, &old, 1, at), 1);
        ck_assert_int_eq(pwrite(fd, &bad, 1, at), 1);
        if (!hs_packed__open(&packed, folder_fd, "numbers", MOST)) {
            for (uint64_t b = 0; b < MOST / HS_PACKED_BLOCK; b++)
                hs_packed__read_block(&packed, b, block);
            hs_packed__close(&packed);
        }
        ck_assert_int_eq(pwrite(fd, &old, 1, at), 1);
    }
    for (off_t size = status.st_size; size-- > status.st_size - 200;) {
        struct hs_packed packed;
        ck_assert_int_eq(ftruncate(fd, size), 0);
        ck_assert_int_eq(hs_packed__open(&packed, folder_fd, "numbers", MOST), -EBADMSG);
    }
    close(fd);
}
END_TEST

// Wherever the place of an exception is overwritten, nothing beyond the block is written.
START_TEST(places_outside_of_the_block_are_left_out)
{
    enum { BEYOND = 65536 };
    static uint64_t numbers[HS_PACKED_BLOCK], block[HS_PACKED_BLOCK + BEYOND];
    const uint16_t far = UINT16_MAX;
    struct hs_packed packed;
    struct stat status;
    size_t opened = 0;
    for (size_t i = 0; i < HS_PACKED_BLOCK; i++)
        numbers[i] = i % 4 + ((uint64_t)(i % 1000 == 0) << 40);
    write_numbers(numbers, HS_PACKED_BLOCK);
    int fd = openat(folder_fd, "numbers", O_RDWR);
    ck_assert_int_eq(fstat(fd, &status), 0);
    for (off_t at = 0; at + (off_t)sizeof(far) <= status.st_size; at++) {
        uint16_t old;
        ck_assert_int_eq(pread(fd, &old, sizeof(old), at), sizeof(old));
        ck_assert_int_eq(pwrite(fd, &far, sizeof(far), at), sizeof(far));
        if (!hs_packed__open(&packed, folder_fd, "numbers", HS_PACKED_BLOCK)) {
            ck_assert_uint_eq(hs_packed__read_block(&packed, 0, block), HS_PACKED_BLOCK);
            for (size_t i = HS_PACKED_BLOCK; i < HS_PACKED_BLOCK + BEYOND; i++)
                if (block[i])
                    ck_abort_msg("written beyond the block: %zu", i);
            hs_packed__close(&packed);
            opened++;
        }
        ck_assert_int_eq(pwrite(fd, &old, sizeof(old), at), sizeof(old));
    }
    ck_assert_uint_gt(opened, HS_PACKED_BLOCK / 4);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed");
    TCase *tests = tcase_create("packed");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, numbers_come_back);
    tcase_add_test(tests, numbers_at_the_edge_of_a_width_come_back);
    tcase_add_test(tests, exceptions_of_every_width_come_back);
    tcase_add_test(tests, numbers_take_as_many_bits_as_they_need);
    tcase_add_test(tests, narrow_numbers_take_few_bytes);
    tcase_add_test(tests, damage_is_survived);
    tcase_add_test(tests, places_outside_of_the_block_are_left_out);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
