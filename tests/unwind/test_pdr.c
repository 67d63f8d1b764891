// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Procedure descriptors in both byte orders, on bytes; a real file is read by the programs that run on MIPS.
#include "tests/suite.h"
#include "unwind/pdr.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 32, SP = 29, S8 = 30, RA = 31 };
#define NO_RECORD SIZE_MAX

static uint8_t bytes[64 * RECORD];
static size_t used;

static void put_word(uint32_t word, bool big_endian)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[used++] = (uint8_t)(word >> 8 * (big_endian ? 3 - i : i));
}

static void put(const struct hs_pdr_record *record, bool big_endian)
{
    put_word(record->address, big_endian);
    put_word(record->saved, big_endian);
    put_word((uint32_t)record->saved_offset, big_endian);
    put_word(0xfff00000, big_endian); // floating point registers
    put_word((uint32_t)-96, big_endian);
    put_word((uint32_t)record->frame_size, big_endian);
    put_word(record->frame_register, big_endian);
    put_word(record->return_register, big_endian);
}

static struct hs_pdr written(bool big_endian)
{
    return (struct hs_pdr){{bytes, bytes + used}, big_endian};
}

static const struct hs_pdr_record usual = {
    .address = 0x20000a28,
    .saved = 0xd0030000, // ra, s8, gp, s1, s0
    .saved_offset = -8,
    .frame_size = 80,
    .frame_register = SP,
    .return_register = RA,
};

START_TEST(reads_records)
{
    struct hs_pdr_record other = usual, read;
    used = 0;
    other.address = 0xfffffff0;
    other.saved_offset = -72;
    other.frame_size = INT32_MAX;
    other.frame_register = S8;
    put(&usual, _i);
    put(&other, _i);
    bytes[used] = 1; // a part of a record is none
    used++;
    struct hs_pdr pdr = written(_i);
    ck_assert_uint_eq(hs_pdr_count(&pdr), 2);
    hs_pdr_read(&pdr, 0, &read);
    ck_assert_mem_eq(&read, &usual, sizeof read);
    hs_pdr_read(&pdr, 1, &read);
    ck_assert_mem_eq(&read, &other, sizeof read);
}
END_TEST

START_TEST(slots_go_down_from_the_highest)
{
    static const struct {
        unsigned number;
        int32_t offset;
    } expected[] = {{31, -8}, {30, -16}, {28, -24}, {17, -32}, {16, -40}};
    int32_t offset;
    uint32_t seen = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ck_assert(hs_pdr_slot(&usual, expected[i].number, &offset));
        ck_assert_int_eq(offset, expected[i].offset);
        seen |= UINT32_C(1) << expected[i].number;
    }
    ck_assert_uint_eq(seen, usual.saved);
    for (unsigned i = 0; i < 32; i++)
        ck_assert_int_eq(hs_pdr_slot(&usual, i, &offset), usual.saved >> i & 1);
}
END_TEST

START_TEST(usable)
{
    struct hs_pdr_record record = usual;
    ck_assert(hs_pdr_usable(&record));
    record.frame_register = S8;
    ck_assert(hs_pdr_usable(&record));
    record.frame_size = 40;
    ck_assert(hs_pdr_usable(&record)); // all of the frame is saved registers
    record.saved_offset = -72;         // arguments are above them
    ck_assert(!hs_pdr_usable(&record));
    record.frame_size = 104;
    ck_assert(hs_pdr_usable(&record));
}
END_TEST

// Each differs from a usable record in one thing.
START_TEST(unusable)
{
    struct hs_pdr_record records[] = {usual, usual, usual, usual, usual, usual, usual, usual, usual, usual, usual};
    records[0].saved = 0; // clang
    records[1].saved &= 0x7fffffff;
    records[2].saved |= UINT32_C(1) << SP;
    records[3].saved_offset = 0;
    records[4].saved_offset = -12;
    records[5].saved_offset = INT32_MIN;
    records[6].frame_size = 32; // the last register would be below it
    records[7].frame_size = -80;
    records[8].frame_register = 28;
    records[9].return_register = 30;
    records[10].frame_register = UINT32_C(1) << 8 | SP;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        ck_assert_msg(!hs_pdr_usable(&records[i]), "%zu", i);
}
END_TEST

static size_t search(const hs_pdr_entry *index, size_t count, uint32_t address)
{
    size_t number;
    return hs_pdr_search(index, count, address, &number) ? number : NO_RECORD;
}

START_TEST(searches)
{
    static const uint32_t addresses[] = {0x400, 0x100, 0xfffffff0, 0x200, 0x300, 0x200};
    enum { COUNT = sizeof addresses / sizeof *addresses };
    hs_pdr_entry index[COUNT];
    used = 0;
    for (size_t i = 0; i < COUNT; i++) {
        struct hs_pdr_record record = usual;
        record.address = addresses[i];
        put(&record, _i);
    }
    struct hs_pdr pdr = written(_i);
    hs_pdr_make_index(&pdr, index);
    ck_assert_uint_eq(search(index, COUNT, 0), NO_RECORD);
    ck_assert_uint_eq(search(index, COUNT, 0xff), NO_RECORD);
    ck_assert_uint_eq(search(index, COUNT, 0x100), 1);
    ck_assert_uint_eq(search(index, COUNT, 0x1ff), 1);
    ck_assert_uint_eq(search(index, COUNT, 0x2ff), 5); // of two at one address, the last
    ck_assert_uint_eq(search(index, COUNT, 0x300), 4);
    ck_assert_uint_eq(search(index, COUNT, 0x401), 0);
    ck_assert_uint_eq(search(index, COUNT, 0xffffffff), 2);
    ck_assert_uint_eq(search(index, 0, 0xffffffff), NO_RECORD);
}
END_TEST

// Against a search that looks at every record.
START_TEST(sorts_any_number)
{
    hs_pdr_entry index[64];
    uint32_t random = 1;
    for (size_t count = 0; count <= 64; count++) {
        used = 0;
        for (size_t i = 0; i < count; i++) {
            struct hs_pdr_record record = usual;
            random = random * 1664525 + 1013904223;
            record.address = random >> 24;
            put(&record, false);
        }
        struct hs_pdr pdr = written(false);
        hs_pdr_make_index(&pdr, index);
        for (uint32_t address = 0; address < 256; address++) {
            size_t best = NO_RECORD;
            uint32_t best_address = 0;
            for (size_t i = 0; i < count; i++) {
                struct hs_pdr_record record;
                hs_pdr_read(&pdr, i, &record);
                if (record.address > address || (best != NO_RECORD && record.address < best_address))
                    continue;
                best = i;
                best_address = record.address;
            }
            ck_assert_uint_eq(search(index, count, address), best);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pdr");
    TCase *cases = tcase_create("pdr");
    tcase_add_loop_test(cases, reads_records, 0, 2);
    tcase_add_test(cases, slots_go_down_from_the_highest);
    tcase_add_test(cases, usable);
    tcase_add_test(cases, unusable);
    tcase_add_loop_test(cases, searches, 0, 2);
    tcase_add_test(cases, sorts_any_number);
    suite_add_tcase(suite, cases);
    return run_suite_in_one_process(suite);
}
