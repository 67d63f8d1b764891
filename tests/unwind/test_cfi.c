// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The parts one by one: rules and their encoding, expressions, records that are damaged or use rare features.
#include "unwind/compile.h"
#include "unwind/eh_frame.h"
#include "unwind/expression.h"
#include "unwind/rule_cache.h"
#include "unwind/walk.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

START_TEST(rule_encoding)
{
    uint32_t rule;
    for (int64_t cfa = 8; cfa < 1 << 17; cfa += 8) {
        int64_t fp = -(cfa % 32768);
        if (fp == -8) {
            ck_assert(!hs_rule_encode(cfa & 8, cfa, -8, fp, &rule)); // where the return address is
            continue;
        }
        ck_assert(hs_rule_encode(cfa & 8, cfa, -8, fp, &rule));
        ck_assert(hs_rule_is(rule, HS_RULE_STANDARD));
        ck_assert_uint_eq(rule >> HS_RULE_BITS, 0);
        ck_assert_uint_eq(hs_rule_cfa_offset(rule), (uintptr_t)cfa);
        ck_assert_uint_eq(!!(rule & HS_RULE_BASE_IS_FP), !!(cfa & 8));
        ck_assert_uint_eq(!!(rule & HS_RULE_FP_SAVED), fp != 0);
        ck_assert_int_eq(hs_rule_fp_below_ra(rule), fp ? -fp / 8 - 1 : 0);
    }
    ck_assert(!hs_rule_encode(false, 0, -8, 0, &rule));
    ck_assert(!hs_rule_encode(false, 12, -8, 0, &rule));
    ck_assert(!hs_rule_encode(false, 1 << 17, -8, 0, &rule));
    ck_assert(!hs_rule_encode(false, 16, -8, -4, &rule));
    ck_assert(!hs_rule_encode(false, 16, -8, 8, &rule));
    ck_assert(!hs_rule_encode(false, 16, -8, -32768, &rule));
    for (uint32_t kind = 0; kind < 3; kind++) {
        rule = hs_rule_odd(kind, 0xabcdef - kind);
        ck_assert(hs_rule_is(rule, HS_RULE_ODD));
        ck_assert_uint_eq(hs_rule_odd_sub_kind(rule), kind);
        ck_assert_uint_eq(hs_rule_odd_argument(rule), 0xabcdef - kind);
    }
}
END_TEST

// More addresses than the cache holds: what is found is right, and most is found.
START_TEST(rule_cache_is_exact)
{
    enum { COUNT = 60000 };
    uint32_t generation = hs_rule_generation(), found = 0;
    for (uintptr_t i = 1; i <= COUNT; i++)
        hs_rule_cache_insert(i * 0x12345677 % (UINT64_C(1) << 47), (uint32_t)i | HS_RULE_OF_KIND(HS_RULE_STANDARD),
                             generation);
    for (uintptr_t i = 1; i <= COUNT; i++) {
        uint32_t rule = hs_rule_cache_find(i * 0x12345677 % (UINT64_C(1) << 47));
        ck_assert(rule == HS_RULE_NONE || rule == ((uint32_t)i | HS_RULE_OF_KIND(HS_RULE_STANDARD)));
        found += rule != HS_RULE_NONE;
    }
    ck_assert_uint_gt(found, 20000);
    ck_assert_uint_eq(hs_rule_cache_find(UINT64_C(1) << 47 | 0x12345677), HS_RULE_NONE);
    hs_rule_cache_insert(99, HS_RULE_OF_KIND(HS_RULE_STANDARD) | 16, generation - 1); // found in an earlier generation
    ck_assert_uint_eq(hs_rule_cache_find(99), HS_RULE_NONE);
    hs_unwind_forget_rules();
    for (uintptr_t i = 1; i <= COUNT; i++)
        ck_assert_uint_eq(hs_rule_cache_find(i * 0x12345677 % (UINT64_C(1) << 47)), HS_RULE_NONE);
}
END_TEST

START_TEST(odd_rules_by_content)
{
    struct hs_odd_rule odd = {.cfa_offset = 1, .cfa_base = HS_BASE_SP};
    uint32_t first = hs_odd_rule_intern(&odd), full = 0;
    ck_assert_uint_eq(hs_odd_rule_intern(&odd), first);
    for (int i = 0; i < 3000; i++) {
        odd.cfa_offset = 1000 + i;
        uint32_t rule = hs_odd_rule_intern(&odd);
        if (hs_rule_odd_sub_kind(rule) == HS_ODD_FULL)
            full++;
        else
            ck_assert_int_eq(hs_odd_rule_at(hs_rule_odd_argument(rule))->cfa_offset, 1000 + i);
    }
    ck_assert_uint_gt(full, 0);
    ck_assert_uint_lt(full, 2500);
    odd.cfa_offset = 1;
    ck_assert_uint_eq(hs_odd_rule_intern(&odd), first);
}
END_TEST

static uintptr_t memory_words[] = {11, 22, 33};

static bool evaluate(const uint8_t *code, size_t length, uintptr_t *result)
{
    struct hs_all_registers registers = {{0}};
    struct hs_words words = {0};
    uintptr_t first = 7;
    registers.values[HS_DWARF_SP] = (uintptr_t)memory_words;
    registers.values[12] = 1000;
    hs_stack_memory_start(&words.live, (uintptr_t)memory_words);
    return hs_expression_evaluate((struct hs_reader){code, code + length, false}, &registers, &first, &words, result);
}

#define CHECK_EXPRESSION(value, ...)                                                                                   \
    do {                                                                                                               \
        static const uint8_t code_[] = {__VA_ARGS__};                                                                  \
        uintptr_t result_ = 0;                                                                                         \
        ck_assert(evaluate(code_, sizeof code_, &result_));                                                            \
        ck_assert_uint_eq(result_, (uintptr_t)(value));                                                                \
    } while (0)
#define CHECK_REFUSED(...)                                                                                             \
    do {                                                                                                               \
        static const uint8_t code_[] = {__VA_ARGS__};                                                                  \
        uintptr_t result_ = 0;                                                                                         \
        ck_assert(!evaluate(code_, sizeof code_, &result_));                                                           \
    } while (0)

START_TEST(expressions)
{
    CHECK_EXPRESSION(7, 0x96);                                  // nop: the first value
    CHECK_EXPRESSION(22, 0x77, 8, 0x06);                        // breg7 8, deref
    CHECK_EXPRESSION(998, 0x7c, 0x7e);                          // breg12 -2
    CHECK_EXPRESSION(1003, 0x92, 12, 3);                        // bregx 12 3
    CHECK_EXPRESSION(0x16, 0x77, 8, 0x94, 1);                   // deref_size 1
    CHECK_EXPRESSION(-3, 0x09, 0xfd);                           // const1s
    CHECK_EXPRESSION(0xfffe, 0x0a, 0xfe, 0xff);                 // const2u
    CHECK_EXPRESSION(-2, 0x0b, 0xfe, 0xff);                     // const2s
    CHECK_EXPRESSION(0xfffffffe, 0x0c, 0xfe, 0xff, 0xff, 0xff); // const4u
    CHECK_EXPRESSION(300, 0x10, 0xac, 2);                       // constu
    CHECK_EXPRESSION(-300, 0x11, 0xd4, 0x7d);                   // consts
    CHECK_EXPRESSION(12, 0x23, 5);                              // plus_uconst
    CHECK_EXPRESSION(3, 0x37, 0x34, 0x1c);                      // lit7 lit4 minus
    CHECK_EXPRESSION(-2, 0x09, 0xf9, 0x33, 0x1b);               // -7 / 3
    CHECK_EXPRESSION(1, 0x37, 0x33, 0x1d);                      // 7 % 3
    CHECK_EXPRESSION(-1, 0x09, 0xf8, 0x33, 0x26);               // -8 shra 3
    CHECK_EXPRESSION(0, 0x31, 0x08, 64, 0x24);                  // shl by 64
    CHECK_EXPRESSION(1, 0x09, 0xff, 0x30, 0x2d);                // -1 < 0
    CHECK_EXPRESSION(6, 0x35, 0x36, 0x16, 0x13);                // swap, drop
    CHECK_EXPRESSION(2, 0x31, 0x32, 0x33, 0x17);                // rot: top under the others
    CHECK_EXPRESSION(1, 0x31, 0x32, 0x33, 0x15, 2);             // pick 2
    CHECK_EXPRESSION(9, 0x31, 0x28, 2, 0, 0x38, 0x96, 0x39);    // bra over two bytes
    CHECK_EXPRESSION(7, 0x2f, 1, 0, 0x38);                      // skip one byte
    CHECK_REFUSED(0x22);                                        // plus with one value
    CHECK_REFUSED(0x13, 0x13);                                  // nothing to drop
    CHECK_REFUSED(0x37, 0x30, 0x1b);                            // division by zero
    CHECK_REFUSED(0x37, 0x30, 0x1d);                            // modulo zero
    CHECK_REFUSED(0x30, 0x06);                                  // deref of NULL
    CHECK_REFUSED(0x38, 0x94, 9);                               // nine bytes
    CHECK_REFUSED(0x2f, 0xfd, 0xff);                            // an endless loop
    CHECK_REFUSED(0x12, 0x2f, 0xfc, 0xff);                      // a stack that grows for ever
    CHECK_REFUSED(0x2f, 0x10, 0);                               // out of the expression
    CHECK_REFUSED(0x2f, 0xf0, 0xff);                            // before it
    CHECK_REFUSED(0x0e, 1, 2);                                  // cut
    CHECK_REFUSED(0xe0);                                        // no such operation
    CHECK_REFUSED(0x92, 77, 0);                                 // no such register
}
END_TEST

static bool classify(const uint8_t *code, size_t length, struct hs_symbolic *value)
{
    return hs_expression_classify((struct hs_reader){code, code + length, false}, 0x40100b, NULL, value);
}

START_TEST(classified_expressions)
{
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t realigned[] = {0x76, 0x78, 0x06}, twice[] = {0x76, 0x78, 0x06, 0x06};
    static const uint8_t other_register[] = {0x73, 0x08}, constant[] = {0x31};
    struct hs_symbolic value;
    ck_assert(classify(plt, sizeof plt, &value)); // pc & 15 is 11: the stub has pushed
    ck_assert_int_eq(value.base, HS_BASE_SP);
    ck_assert_int_eq(value.offset, 16);
    ck_assert(!value.deref);
    ck_assert(classify(realigned, sizeof realigned, &value));
    ck_assert_int_eq(value.base, HS_BASE_FP);
    ck_assert_int_eq(value.offset, -8);
    ck_assert(value.deref);
    ck_assert(!classify(twice, sizeof twice, &value));
    ck_assert(!classify(other_register, sizeof other_register, &value));
    ck_assert(!classify(constant, sizeof constant, &value));
}
END_TEST

// A .debug_frame with one CIE and one FDE of [0x1000, 0x1100), whose instructions are given.
static uint8_t section_bytes[600];
static struct hs_cfi_section make_section(const uint8_t *instructions, size_t length)
{
    static const uint8_t cie[] = {0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
    uint64_t addresses[] = {0x1000, 0x100};
    uint32_t cie_length = sizeof cie, fde_length = (uint32_t)(4 + sizeof addresses + length), pointer = 0;
    uint8_t *at = section_bytes;
    memcpy(at, &cie_length, 4), memcpy(at + 4, cie, sizeof cie), at += 4 + sizeof cie;
    memcpy(at, &fde_length, 4), memcpy(at + 4, &pointer, 4), at += 8;
    memcpy(at, addresses, sizeof addresses), at += sizeof addresses;
    memcpy(at, instructions, length), at += length;
    return (struct hs_cfi_section){.start = section_bytes, .end = at, .debug_frame = true};
}

static bool cfi_row_of(const uint8_t *instructions, size_t length, uintptr_t address, struct hs_cfi_row *cfi_row)
{
    struct hs_cfi_section section = make_section(instructions, length);
    struct hs_fde fde;
    return hs_eh_frame_scan(&section, section.start, address, &fde) && hs_cfi_row_at(&section, &fde, address, cfi_row);
}

#define ROW(address, cfi_row, ...)                                                                                     \
    ({                                                                                                                 \
        static const uint8_t code_[] = {__VA_ARGS__};                                                                  \
        cfi_row_of(code_, sizeof code_, address, cfi_row);                                                             \
    })

START_TEST(cfi_rows)
{
    struct hs_cfi_row cfi_row;
    ck_assert(ROW(0x1000, &cfi_row, 0));
    ck_assert_int_eq(cfi_row.cfa_register, HS_DWARF_SP);
    ck_assert_int_eq(cfi_row.cfa_offset, 8);
    ck_assert_int_eq(cfi_row.registers[HS_DWARF_RA].value, -8);
    ck_assert(ROW(0x1003, &cfi_row, 0x44, 0x0e, 16));
    ck_assert_int_eq(cfi_row.cfa_offset, 8);
    ck_assert(ROW(0x1004, &cfi_row, 0x44, 0x0e, 16)); // advance_loc 4, def_cfa_offset
    ck_assert_int_eq(cfi_row.cfa_offset, 16);
    ck_assert(ROW(0x1050, &cfi_row, 0x02, 0x40, 0x12, 6, 0x7e)); // advance_loc1, def_cfa_sf
    ck_assert_int_eq(cfi_row.cfa_register, HS_DWARF_FP);
    ck_assert_int_eq(cfi_row.cfa_offset, 16);
    ck_assert(ROW(0x1050, &cfi_row, 0x86, 2, 0x44, 0xc6)); // offset rbp, later restore
    ck_assert_int_eq(cfi_row.registers[HS_DWARF_FP].kind, HS_CFI_SAME);
    ck_assert(ROW(0x1050, &cfi_row, 0x05, 6, 3, 0x2f, 3, 2, 0x15, 7, 0x7f, 0x09, 12, 3)); // the rarer ones
    ck_assert_int_eq(cfi_row.registers[HS_DWARF_FP].value, -24);
    ck_assert_int_eq(cfi_row.registers[3].value, 16);
    ck_assert_int_eq(cfi_row.registers[HS_DWARF_SP].kind, HS_CFI_VALUE_OFFSET);
    ck_assert_int_eq(cfi_row.registers[HS_DWARF_SP].value, 8);
    ck_assert_int_eq(cfi_row.registers[12].kind, HS_CFI_REGISTER);
    ck_assert(ROW(0x1050, &cfi_row, 0x0a, 0x0a, 0x0e, 99, 0x0b, 0x0b)); // remember, restore
    ck_assert_int_eq(cfi_row.cfa_offset, 8);
    ck_assert(ROW(0x1050, &cfi_row, 0x9f, 1)); // a vector register is skipped
    ck_assert(!ROW(0x1050, &cfi_row, 0x0b));   // nothing remembered
    ck_assert(!ROW(0x1050, &cfi_row, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
    ck_assert(!ROW(0x1050, &cfi_row, 0x3f));             // no such instruction
    ck_assert(!ROW(0x1050, &cfi_row, 0x0d, 33));         // CFA from no register
    ck_assert(!ROW(0x1050, &cfi_row, 0x0f, 0x20, 0x30)); // an expression beyond the end
    ck_assert(!ROW(0x1100, &cfi_row, 0));                // outside of the function
}
END_TEST

// Cut anywhere, the section is refused or read, and never read beyond.
START_TEST(cut_sections)
{
    static const uint8_t instructions[] = {0x44, 0x0e, 16, 0x86, 2, 0x0f, 3, 0x77, 8, 6, 0x16, 3, 2, 0x31, 0x32};
    struct hs_cfi_section whole = make_section(instructions, sizeof instructions);
    size_t size = (size_t)(whole.end - whole.start);
    for (size_t cut = 0; cut <= size; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1);
        struct hs_cfi_section section = {.start = copy, .end = copy + cut, .debug_frame = true};
        struct hs_fde fde;
        struct hs_cfi_row cfi_row;
        memcpy(copy, whole.start, cut);
        bool found = hs_eh_frame_scan(&section, copy, 0x1050, &fde) && hs_cfi_row_at(&section, &fde, 0x1050, &cfi_row);
        ck_assert(found == (cut == size));
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cfi");
    TCase *cases = tcase_create("parts");
    tcase_add_test(cases, rule_encoding);
    tcase_add_test(cases, rule_cache_is_exact);
    tcase_add_test(cases, odd_rules_by_content);
    tcase_add_test(cases, expressions);
    tcase_add_test(cases, classified_expressions);
    tcase_add_test(cases, cfi_rows);
    tcase_add_test(cases, cut_sections);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
