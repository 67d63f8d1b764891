// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ARM's exception index over byte arrays: every opcode, every model of entry, searching, and damage.
#include "tests/suite.h"
#include "unwind/exidx.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Both tables in one memory: the index first, .ARM.extab behind it.
enum { BASE = 0x10000, TABLE = BASE + 0x100, SIZE = 0x800, FUNCTION = 0x8000 };

struct image {
    uint8_t *bytes; // one past an even address, so that nothing in it is aligned
    void *allocated;
    struct hs_exidx exidx;
};

static void put(struct image *image, uint32_t address, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        image->bytes[address - BASE + i] = (uint8_t)(word >> 8 * i);
}

static uint32_t relative(uint32_t place, uint32_t address)
{
    return (address - place) & 0x7fffffff;
}

static void put_entry(struct image *image, uint32_t number, uint32_t function, uint32_t word)
{
    put(image, BASE + number * 8, relative(BASE + number * 8, function));
    put(image, BASE + number * 8 + 4, word);
    if (image->exidx.count <= number)
        image->exidx.count = number + 1;
}

static void start_image(struct image *image)
{
    image->allocated = calloc(1, SIZE + 1);
    image->bytes = (uint8_t *)image->allocated + 1;
    image->exidx = (struct hs_exidx){image->bytes, SIZE, BASE, BASE, 0};
}

static const char *describe(bool found, const struct hs_cfi_row *cfi_row)
{
    static char text[256];
    if (!found)
        return "none";
    int length = snprintf(text, sizeof text, "r%u%+d", cfi_row->cfa_register, (int)cfi_row->cfa_offset);
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        if (cfi_row->registers[i].kind != HS_CFI_SAME)
            length += snprintf(text + length, sizeof text - (size_t)length, " %d:%d%s", i, cfi_row->registers[i].value,
                               cfi_row->registers[i].kind == HS_CFI_AT_OFFSET ? "" : "?");
    return text;
}

static const char *cfi_row_at(const struct image *image, uint32_t address)
{
    struct hs_exidx_entry entry;
    struct hs_cfi_row cfi_row;
    return describe(hs_exidx_find(&image->exidx, address, &entry) && hs_exidx_cfi_row(&image->exidx, &entry, &cfi_row),
                    &cfi_row);
}

// The CFI row that opcodes, in the order in which they are executed, give in an entry of the routine of number 1.
static const char *cfi_row_of(const uint8_t *opcodes, uint32_t count)
{
    struct image image;
    uint8_t all[400] = {0x81, 0};
    uint32_t words = (count + 2 + 3) / 4;
    memset(all + 2, 0xb0, sizeof all - 2);
    memcpy(all + 2, opcodes, count);
    all[1] = (uint8_t)(words - 1);
    start_image(&image);
    put_entry(&image, 0, FUNCTION, relative(BASE + 4, TABLE));
    for (uint32_t i = 0; i < words; i++)
        put(&image, TABLE + 4 * i,
            (uint32_t)all[4 * i] << 24 | (uint32_t)all[4 * i + 1] << 16 | (uint32_t)all[4 * i + 2] << 8 |
                all[4 * i + 3]);
    const char *text = cfi_row_at(&image, FUNCTION + 10);
    free(image.allocated);
    return text;
}

static const struct {
    uint8_t count;
    uint8_t opcodes[10];
    const char *cfi_row;
} known[] = {
    {1, {0xb0}, "r13+0"},
    {1, {0x00}, "r13+4"},
    {1, {0x3f}, "r13+256"},
    {2, {0x3f, 0x40}, "r13+252"},
    {2, {0x3f, 0x7f}, "r13+0"},
    {1, {0x7f}, "r13-256"},
    {2, {0x80, 0x00}, "none"}, // refuses to unwind
    {2, {0x80, 0x01}, "r13+4 4:-4"},
    {2, {0x84, 0x08}, "r13+8 7:-8 14:-4"},
    {2, {0x88, 0x01}, "r13+8 4:-8 14:-4"}, // pc was popped: it is the return address
    {2, {0x8c, 0x00}, "r13+8 14:-4"},
    {2, {0x82, 0x00}, "none"}, // the caller's sp is in memory
    {2, {0x81, 0x80}, "r13+8 11:-8 12:-4"},
    {2, {0x97, 0x01}, "r7+8"},
    {3, {0x3f, 0x9b, 0xa8}, "r11+8 4:-8 14:-4"},
    {3, {0xa8, 0x00, 0x97}, "none"}, // two registers that places depend on
    {1, {0x9d}, "none"},
    {1, {0x9f}, "none"},
    {1, {0xa0}, "r13+4 4:-4"},
    {1, {0xa7}, "r13+32 4:-32 5:-28 6:-24 7:-20 8:-16 9:-12 10:-8 11:-4"},
    {1, {0xa8}, "r13+8 4:-8 14:-4"},
    {2, {0x02, 0xaf}, "r13+48 4:-36 5:-32 6:-28 7:-24 8:-20 9:-16 10:-12 11:-8 14:-4"},
    {3, {0xa8, 0xb0, 0xa8}, "r13+8 4:-8 14:-4"}, // nothing after the finish
    {2, {0xa8, 0xa8}, "r13+16 4:-8 14:-4"},      // popped twice: the last one holds
    {2, {0xb1, 0x0f}, "r13+16"},
    {4, {0xa8, 0xb1, 0x0e, 0x00}, "r13+24 4:-24 14:-20"},
    {2, {0xb1, 0x00}, "none"},
    {2, {0xb1, 0x10}, "none"},
    {2, {0xb2, 0x00}, "r13+516"},
    {3, {0xb2, 0x80, 0x01}, "r13+1028"},
    {5, {0xb2, 0xff, 0xff, 0xff, 0x7f}, "r13+1073742336"},
    {6, {0xb2, 0xff, 0xff, 0xff, 0xff, 0x0f}, "none"},       // more than 32 bits
    {7, {0xb2, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, "none"}, // more digits than 32 bits have
    {2, {0xb3, 0x81}, "r13+20"},                             // fstmfdx d8-d9
    {4, {0xb4, 0x84, 0x00, 0xb5}, "r13+8 14:-4"},            // return address and its code
    {3, {0xb5, 0x84, 0x00}, "r13+4 14:-4"},
    {1, {0xb6}, "none"},
    {1, {0xb7}, "none"},
    {1, {0xb8}, "r13+12"},
    {1, {0xbf}, "r13+68"},
    {1, {0xc0}, "r13+8"},
    {1, {0xc5}, "r13+48"},
    {2, {0xc6, 0xa2}, "r13+24"},
    {2, {0xc7, 0x05}, "r13+8"},
    {2, {0xc7, 0x00}, "none"},
    {2, {0xc7, 0x11}, "none"},
    {2, {0xc8, 0x03}, "r13+32"},
    {2, {0xc9, 0x87}, "r13+64"},
    {1, {0xca}, "none"},
    {1, {0xcf}, "none"},
    {1, {0xd0}, "r13+8"},
    {2, {0xd7, 0xa8}, "r13+72 4:-8 14:-4"},
    {1, {0xd8}, "none"},
    {1, {0xdf}, "none"},
    {1, {0xe0}, "none"},
    {1, {0xff}, "none"},
};

START_TEST(every_opcode)
{
    ck_assert_str_eq(cfi_row_of(known[_i].opcodes, known[_i].count), known[_i].cfi_row);
}
END_TEST

// An operand that is missing: the opcode is the last byte.
START_TEST(missing_operands)
{
    static const uint8_t with_operand[] = {0x80, 0xb1, 0xb2, 0xb3, 0xc6, 0xc7, 0xc8, 0xc9};
    for (size_t i = 0; i < sizeof with_operand; i++) {
        uint8_t opcodes[] = {0x00, with_operand[i]};
        ck_assert_msg(strcmp(cfi_row_of(opcodes, 2), "none") == 0, "%#x", with_operand[i]);
    }
}
END_TEST

START_TEST(many_words)
{
    uint8_t opcodes[202];
    memset(opcodes, 0x00, sizeof opcodes);
    ck_assert_str_eq(cfi_row_of(opcodes, sizeof opcodes), "r13+808");
}
END_TEST

START_TEST(inline_entries)
{
    struct image image;
    start_image(&image);
    put_entry(&image, 0, FUNCTION, 0x80aab0b0);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+16 4:-16 5:-12 6:-8 14:-4");
    put_entry(&image, 0, FUNCTION, 0x80010101); // runs to the end without a finish
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+24");
    put_entry(&image, 0, FUNCTION, 0x81aab0b0); // only routine 0 has entries of one word
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    put_entry(&image, 0, FUNCTION, 0xc0aab0b0);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    put_entry(&image, 0, FUNCTION, 1);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    free(image.allocated);
}
END_TEST

START_TEST(table_entries)
{
    struct image image;
    start_image(&image);
    put_entry(&image, 0, FUNCTION, relative(BASE + 4, TABLE));
    put(&image, TABLE, 0x80a8b0b0); // routine 0
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+8 4:-8 14:-4");
    put(&image, TABLE, 0x81010001); // routine 1 with a word more
    put(&image, TABLE + 4, 0x02a8b0b0);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+32 4:-8 14:-4");
    put(&image, TABLE, 0x82010001); // routine 2
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+32 4:-8 14:-4");
    put(&image, TABLE, 0x83010001); // reserved
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    put(&image, TABLE, 0x91010001);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    put(&image, TABLE, relative(TABLE, FUNCTION)); // a language's own
    put(&image, TABLE + 4, 0x00a8b0b0);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+8 4:-8 14:-4");
    put(&image, TABLE + 4, 0x01000000);
    put(&image, TABLE + 8, 0xa8b0b0b0);
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "r13+20 4:-8 14:-4");
    free(image.allocated);
}
END_TEST

START_TEST(searching)
{
    struct image image;
    struct hs_exidx_entry entry;
    uint32_t start;
    start_image(&image);
    for (uint32_t i = 0; i < 30; i++)
        put_entry(&image, i, FUNCTION + i * 0x10 + (i & 1), i % 3 == 2 ? 1 : 0x8000b0b0 | i << 16); // bit 0: Thumb
    for (uint32_t at = FUNCTION; at < FUNCTION + 30 * 0x10; at++) {
        uint32_t number = (at - FUNCTION) / 0x10;
        bool found = hs_exidx_find(&image.exidx, at, &entry);
        ck_assert_int_eq(found, number % 3 != 2);
        if (!found)
            continue;
        ck_assert_uint_eq(entry.start, FUNCTION + number * 0x10);
        ck_assert_uint_eq(entry.end, number == 29 ? entry.start : FUNCTION + number * 0x10 + 0x10);
        ck_assert_uint_eq(entry.opcodes, BASE + number * 8 + 4);
    }
    ck_assert(!hs_exidx_find(&image.exidx, FUNCTION - 1, &entry));
    ck_assert(!hs_exidx_find(&image.exidx, 0, &entry));
    ck_assert(hs_exidx_start(&image.exidx, 29, &start));
    ck_assert_uint_eq(start, FUNCTION + 29 * 0x10);
    ck_assert(!hs_exidx_start(&image.exidx, 30, &start));
    image.exidx.count = 0;
    ck_assert(!hs_exidx_find(&image.exidx, FUNCTION, &entry));
    free(image.allocated);
}
END_TEST

// Addresses wrap where the address space ends.
START_TEST(high_addresses)
{
    uint8_t bytes[16] = {0};
    struct hs_exidx exidx = {bytes, sizeof bytes, 0xfffffff0, 0xfffffff0, 2};
    struct hs_exidx_entry entry;
    uint32_t start;
    bytes[0] = 0x20; // to 0x10
    ck_assert(hs_exidx_start(&exidx, 0, &start));
    ck_assert_uint_eq(start, 0x10);
    bytes[0] = 0xf0; // to 0xffffffe0
    bytes[1] = bytes[2] = bytes[3] = 0xff;
    memcpy(bytes + 4, "\xb0\xb0\xa8\x80", 4);
    bytes[8] = 0xf0; // to 0xffffffe8
    bytes[9] = bytes[10] = 0xff;
    bytes[11] = 0x7f;
    memcpy(bytes + 12, "\xb0\xb0\xb0\x80", 4);
    ck_assert(hs_exidx_find(&exidx, 0xffffffe4, &entry));
    ck_assert_uint_eq(entry.start, 0xffffffe0);
    ck_assert_uint_eq(entry.end, 0xffffffe8);
    ck_assert(hs_exidx_find(&exidx, 0xfffffff8, &entry));
    ck_assert_uint_eq(entry.start, 0xffffffe8);
}
END_TEST

// Cut at each byte, in an exact copy, so that a sanitizer sees every byte read outside of it.
START_TEST(cut_off)
{
    struct image image;
    start_image(&image);
    put_entry(&image, 0, FUNCTION, relative(BASE + 4, BASE + 16));
    put_entry(&image, 1, FUNCTION + 0x10, 1);
    put(&image, BASE + 16, 0x81010001);
    put(&image, BASE + 20, 0x02a8b0b0);
    for (uint32_t size = 0; size <= 24; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        memcpy(copy, image.bytes, size);
        struct image cut = {copy, NULL, {copy, size, BASE, BASE, 2}};
        ck_assert_str_eq(cfi_row_at(&cut, FUNCTION), size == 24 ? "r13+32 4:-8 14:-4" : "none");
        free(copy);
    }
    image.exidx.index = BASE - 4; // the index begins outside
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    image.exidx.index = BASE;
    image.exidx.count = UINT32_MAX;
    ck_assert_str_eq(cfi_row_at(&image, FUNCTION), "none");
    free(image.allocated);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exidx");
    TCase *cases = tcase_create("exidx");
    tcase_add_loop_test(cases, every_opcode, 0, sizeof known / sizeof *known);
    tcase_add_test(cases, missing_operands);
    tcase_add_test(cases, many_words);
    tcase_add_test(cases, inline_entries);
    tcase_add_test(cases, table_entries);
    tcase_add_test(cases, searching);
    tcase_add_test(cases, high_addresses);
    tcase_add_test(cases, cut_off);
    suite_add_tcase(suite, cases);
    return run_suite_in_one_process(suite);
}
