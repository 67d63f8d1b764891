// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/decoder/describe.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct known {
    uint32_t word;
    const char *text;
};

static const char *describe(uint32_t word)
{
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    return describe_bytes(&hs_decoder_aarch64, bytes, sizeof bytes);
}

static const struct known known[] = {
    // frames
    {0xa9be7bfd, "r31=r31-32 [r31+0]=r29 [r31+8]=r30"}, // stp x29, x30, [sp, #-32]!
    {0xa8c27bfd, "r29=[r31+0] r30=[r31+8] r31=r31+32"}, // ldp x29, x30, [sp], #32
    {0xa94153f3, "r19=[r31+16] r20=[r31+24]"},          // ldp x19, x20, [sp, #16]
    {0xa90153f3, "[r31+16]=r19 [r31+24]=r20"},          // stp x19, x20, [sp, #16]
    {0xa8007bfd, "[r31+0]=r29 [r31+8]=r30"},            // stnp x29, x30, [sp]
    {0xa9007fbd, "[r29+0]=r29"},                        // stp x29, xzr, [x29]
    {0xa94007e0, "r0=[r31+0] r1=[r31+8]"},              // ldp x0, x1, [sp]
    {0xa9400400, "r1=[r0+8] r0=[r0+0]"},                // ldp x0, x1, [x0]
    {0xf81f0ffe, "r31=r31-16 [r31+0]=r30"},             // str x30, [sp, #-16]!
    {0xf84107fe, "r30=[r31+0] r31=r31+16"},             // ldr x30, [sp], #16
    {0xf9000ffe, "[r31+24]=r30"},                       // str x30, [sp, #24]
    {0xf85f83be, "r30=[r29-8]"},                        // ldur x30, [x29, #-8]
    {0xf87f6813, "r19=?"},                              // ldr x19, [x0, xzr]
    {0xf8206813, ""},                                   // str x19, [x0, x0]
    {0x6dbe23e9, "r31=r31-32"},                         // stp d9, d8, [sp, #-32]!
    {0x6cc223e9, "r31=r31+32"},                         // ldp d9, d8, [sp], #32
    {0x3c9f0fe0, "r31=r31-16"},                         // str q0, [sp, #-16]!
    {0xb81fcfe1, "r31=r31-4"},                          // str w1, [sp, #-4]!
    {0x294153f3, "r19=? r20=?"},                        // ldp w19, w20, [sp, #8]
    {0x69820413, "r0=r0+64 [r0+0]=r19 [r0+8]=r1"},      // stgp x19, x1, [x0, #64]!
    // sums
    {0x910003fd, "r29=r31+0"},        // mov x29, sp
    {0x910003bf, "r31=r29+0"},        // mov sp, x29
    {0xd10083ff, "r31=r31-32"},       // sub sp, sp, #32
    {0xd14007ff, "r31=r31-4096"},     // sub sp, sp, #1, lsl #12
    {0x9100c3bf, "r31=r29+48"},       // add sp, x29, #48
    {0x110083ff, "r31=?"},            // add wsp, wsp, #32
    {0xb10083ff, ""},                 // cmn sp, #32
    {0xcb2c63ff, "r31=r31-r12"},      // sub sp, sp, x12
    {0x8b2c63ff, "r31=r31+r12"},      // add sp, sp, x12
    {0x8b2c67ff, "r31=?"},            // add sp, sp, x12, uxtx #1
    {0xeb2c63ff, "compares r31 r12"}, // cmp sp, x12
    {0x8b140273, "r19=r19+r20"},      // add x19, x19, x20
    {0x8b140673, "r19=?"},            // add x19, x19, x20, lsl #1
    {0xcb1403f3, "r19=?"},            // neg x19, x20
    {0xeb13029f, "compares r20 r19"},
    {0x6b13029f, ""},         // cmp w20, w19
    {0xcb1f03ff, ""},         // neg xzr, xzr
                              // cmp x20, x19
    {0xaa0003f3, "r19=r0+0"}, // mov x19, x0
    {0x2a0003f3, "r19=?"},    // mov w19, w0
    {0xaa1f03f3, "r19=#0"},   // mov x19, xzr
    {0x927cef9f, "r31=?"},    // and sp, x28, #-16
    {0xf27cef9f, ""},         // tst x28, #-16
    {0xb2400800, "r0=r0|7"},  // orr x0, x0, #7
    {0xb24003e0, "r0=#1"},    // mov x0, #1 (orr)
    {0xb2410fe0, "r0=?"},     // orr x0, xzr, #0x8000000000000007
    {0xb27cf3e0, "r0=#-15"},
    {0xd2800210, "r16=#16"},      // mov x16, #16
    {0xd2b00010, "r16=?"},        // mov x16, #0x80000000
    {0x92800010, "r16=#-1"},      // mov x16, #-1
    {0x12800010, "r16=?"},        // mov w16, #-1
    {0xf2800210, "r16=?"},        // movk x16, #16
    {0xd37be810, "r16=r0<<5"},    // lsl x16, x0, #5
    {0xd37ffc10, "r16=?"},        // lsr x16, x0, #63
    {0x90000010, "0x1000 r16=?"}, // adrp x16, .
    {0x9a9f17f3, "r19=?"},        // cset x19, eq
    {0x9b017c13, "r19=?"},        // mul x19, x0, x1
    {0xfa400804, ""},             // ccmp x0, #0, #4, eq
    {0xba000404, ""},             // rmif x0, #0, #4
    // where control goes
    {0x94000001, "call 0x1004 r30=?"},
    {0x97ffffff, "call 0xffc r30=?"},
    {0xd63f0200, "call r30=?"}, // blr x16
    {0xd73f0a11, "call r30=?"}, // blraa x16, x17
    {0x14000002, "jump 0x1008"},
    {0x54000040, "branch 0x1008"},              // b.eq
    {0x54000041, "branch unless equal 0x1008"}, // b.ne
    {0xb4ffffe1, "branch 0xffc"},               // cbz x1
    {0x37080040, "branch 0x1008"},              // tbnz w0, #1
    {0xd61f0200, "indirect"},                   // br x16
    {0xd71f0a11, "indirect"},                   // braa x16, x17
    {0xd65f03c0, "return"},
    {0xd65f0bff, "return"}, // retaa
    {0xd65f0fff, "return"}, // retab
    {0xd69f03e0, "return"}, // eret
    {0xd4200020, "stop"},   // brk #1
    {0x00000000, "stop"},   // udf #0
    {0xd4000001, "r0=?"},   // svc #0
    // what must not disturb
    {0xd503233f, ""},      // paciasp
    {0xd50323bf, ""},      // autiasp
    {0xd50320ff, ""},      // xpaclri
    {0xd503245f, ""},      // bti c
    {0xd503201f, ""},      // nop
    {0xdac103fe, ""},      // pacia x30, sp
    {0xdac143fe, ""},      // xpaci x30
    {0xdac103f0, "r16=?"}, // pacia x16, sp
    {0xd503211f, "r17=?"}, // pacia1716
    {0xd53bd053, "r19=?"}, // mrs x19, tpidr_el0
    {0xd51bd053, ""},      // msr tpidr_el0, x19
    // atomics and other memory
    {0xc85ffc13, "r19=?"},                                   // ldaxr x19, [x0]
    {0xc813fc13, "r19=?"},                                   // stlxr w19, x19, [x0]
    {0xc87f5013, "r19=? r20=?"},                             // ldxp x19, x20, [x0]
    {0xc8dffc13, "r19=[r0+0]"},                              // ldar x19, [x0]
    {0xc89ffc13, "[r0+0]=r19"},                              // stlr x19, [x0]
    {0x48347c12, "r20=? r21=?"},                             // casp x20, x21, x18, x19, [x0]
    {0xc8b37c14, "r19=?"},                                   // cas x19, x20, [x0]
    {0xf8b30014, "r20=?"},                                   // ldadda x19, x20, [x0]
    {0xf833001f, ""},                                        // stadd x19, [x0]
    {0xf8bfc013, "r19=?"},                                   // ldapr x19, [x0]
    {0xd9408013, "r19=[r0+8]"},                              // ldapur x19, [x0, #8]
    {0xd9008013, "[r0+8]=r19"},                              // stlur x19, [x0, #8]
    {0xf83fd000, "r0=? r1=? r2=? r3=? r4=? r5=? r6=? r7=?"}, // ld64b x0, [x0]
    {0xf8208c13, "r0=r0+64 r19=[r0+0]"},                     // ldraa x19, [x0, #64]!
    {0x58000013, "r19=?"},                                   // ldr x19, .
    {0xf9800000, ""},                                        // prfm
    {0x4c9f7000, "r0=r0+16"},                                // st1 {v0.16b}, [x0], #16
    {0x0c9f2000, "r0=r0+32"},                                // st1 {v0.8b-v3.8b}, [x0], #32
    {0x4c817000, "r0=r0+r1"},                                // st1 {v0.16b}, [x0], x1
    {0x4c007000, ""},                                        // st1 {v0.16b}, [x0]
    {0x0ddfc400, "r0=r0+2"},                                 // ld1r {v0.4h}, [x0], #2
    {0x4dbf8400, "r0=r0+16"},                                // st2 {v0.d, v1.d}[1], [x0], #16
    {0xd9202413, "r0=r0+32"},                                // stg x19, [x0], #32
    {0xd9600013, "r19=?"},                                   // ldg x19, [x0]
    {0x1d010440, "r0=? r2=? r1=?"},                          // cpyp [x0]!, [x1]!, x2!
    {0x19c10440, "r0=? r2=?"},                               // setp [x0]!, x2!, x1
    {0xd1800fff, "r31=?"},                                   // subg sp, sp, #0, #3
    {0x9adf13ff, "r31=?"},                                   // irg sp, sp
    // vectors
    {0x9e660013, "r19=?"}, // fmov x19, d0
    {0x9e670013, ""},      // fmov d19, x0
    {0x1e780013, "r19=?"}, // fcvtzs w19, d0
    {0x1e620013, ""},      // scvtf d19, w0
    {0x1e602018, ""},      // fcmp d0, #0 and its kin
    {0x4e083c13, "r19=?"}, // umov x19, v0.d[0]
    {0x4e042c13, "r19=?"}, // smov x19, v0.s[0]
    {0x4e081c13, ""},      // mov v19.d[0], x0
    {0x047f57df, "r31=?"}, // addpl sp, sp, #-2
    {0x043f57df, "r31=?"}, // addvl sp, sp, #-2
    {0x04bf5053, "r19=?"}, // rdvl x19, #2
    {0x0460e3f3, "r19=?"}, // cnth x19
    {0x0430e3f3, "r19=?"}, // incb x19
    {0x25208013, "r19=?"}, // cntp x19, p0, p0.b
    {0x0530a013, "r19=?"}, // clasta w19, p0, w19, z0.b
    {0x0420a013, ""},      // adr z19: a vector
    // no instructions
    {0x02000000, "none"},
    {0x06000000, "none"},
    {0x92400000 | 0x3f << 10, "none"}, // a logical immediate of ones alone
};

START_TEST(encodings)
{
    const struct known *one = &known[_i];
    ck_assert_msg(strcmp(describe(one->word), one->text) == 0, "%08x: \"%s\", expected \"%s\"", one->word,
                  describe(one->word), one->text);
}
END_TEST

// mov x16, #0x1234; movk x16, #1, lsl #16 gives a number; anything between the two does not.
START_TEST(wide_moves)
{
    static const uint8_t code[] = {0x90, 0x46, 0x82, 0xd2, 0x30, 0x00, 0xa0, 0xf2};
    struct hs_instruction instruction;
    uint32_t context = 0;
    ck_assert(hs_decoder_aarch64.decode(code, sizeof code, 0x1000, &context, &instruction));
    ck_assert_str_eq(describe_instruction(&instruction), "r16=#4660");
    ck_assert(hs_decoder_aarch64.decode(code + 4, 4, 0x1004, &context, &instruction));
    ck_assert_str_eq(describe_instruction(&instruction), "r16=#70196");
    ck_assert(hs_decoder_aarch64.decode(code + 4, 4, 0x1004, &context, &instruction));
    ck_assert_str_eq(describe_instruction(&instruction), "r16=?");
    context = 0;
    hs_decoder_aarch64.decode(code, sizeof code, 0x1000, &context, &instruction);
    static const uint8_t other[] = {0x31, 0x00, 0xa0, 0xf2}; // movk x17, #1, lsl #16
    hs_decoder_aarch64.decode(other, sizeof other, 0x1004, &context, &instruction);
    ck_assert_str_eq(describe_instruction(&instruction), "r17=?");
}
END_TEST

START_TEST(cut_off)
{
    static const uint8_t code[] = {0xc0, 0x03, 0x5f, 0xd6};
    for (size_t length = 0; length < 4; length++) {
        ck_assert_str_eq(describe_bytes(&hs_decoder_aarch64, code, length), "none");
        ck_assert(!hs_decoder_aarch64.starts_function(code, length));
        ck_assert(!hs_decoder_aarch64.ends_with_call(code + length, length));
    }
}
END_TEST

static void bytes_of(uint32_t word, uint8_t *bytes)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

enum { CODE_MAX = 20 };

struct code {
    uint32_t words[CODE_MAX];
    bool starts;
};

START_TEST(starts)
{
    static const struct code codes[] = {
        {{0xd503233f}, true},                          // paciasp
        {{0xd503237f}, true},                          // pacibsp
        {{0xd503245f}, true},                          // bti c
        {{0xd50324df}, true},                          // bti jc
        {{0xa9be7bfd}, true},                          // stp x29, x30, [sp, #-32]!
        {{0xf81f0ffe}, true},                          // str x30, [sp, #-16]!
        {{0xa9bf7bf3}, true},                          // stp x19, x30, [sp, #-16]!
        {{0xa9bd53f3, 0xf90013fe}, true},              // stp x19, x20, [sp, #-48]!; str x30, [sp, #32]
        {{0xd10083ff, 0xa9017bfd}, true},              // sub sp, sp, #32; stp x29, x30, [sp, #16]
        {{0x6dbe23e9, 0xf9000bfe}, true},              // stp d9, d8, [sp, #-32]!; str x30, [sp, #16]
        {{0xb4000040, 0xa9be7bfd}, true},              // cbz x0, .+8; stp x29, x30, [sp, #-32]!
        {{0x90000001, 0x91001021, 0xf81f0ffe}, true},  // adrp x1, .; add x1, x1, #4; str x30, [sp, #-16]!
        {{0xd503201f}, false},                         // nop
        {{0xd503241f}, false},                         // bti
        {{0xd503249f}, false},                         // bti j
        {{0xd503201f, 0xd503245f}, false},             // padding before a function
        {{0x00000000, 0xa9be7bfd}, false},             // udf
        {{0xd65f03c0, 0xa9be7bfd}, false},             // ret, and then a function
        {{0xd10443ff, 0x910003e1, 0x94000001}, false}, // sub sp, sp, #272; mov x1, sp; bl: room for a variable array
        {{0xa9be53f3, 0xd65f03c0}, false},             // stp x19, x20, [sp, #-32]!: this calls nothing
        {{0xa8c27bfd, 0xd65f03c0}, false},             // ldp x29, x30, [sp], #32
        {{0xf900001e}, false},                         // str x30, [x0]
        {{0xa9017bfd}, false},                         // stp x29, x30, [sp, #16]: room was made before
        {{0xcb2c63ff, 0xa9007bfd}, true},              // sub sp, sp, x12; stp x29, x30, [sp]
    };
    uint8_t bytes[4 * CODE_MAX];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        for (unsigned word = 0; word < CODE_MAX; word++)
            bytes_of(codes[i].words[word], bytes + 4 * word);
        ck_assert_msg(hs_decoder_aarch64.starts_function(bytes, sizeof bytes) == codes[i].starts, "%zu", i);
    }
}
END_TEST

START_TEST(ends)
{
    static const uint32_t calls[] = {0x94000001, 0x97ffffff, 0xd63f0200, 0xd73f0a11, 0xd63f081f, 0xd63f0c1f};
    static const uint32_t others[] = {0x14000001, 0xd61f0200, 0xd65f03c0, 0xd71f0a11, 0xd503201f};
    uint8_t bytes[4];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        bytes_of(calls[i], bytes);
        ck_assert_msg(hs_decoder_aarch64.ends_with_call(bytes + 4, 4), "%08x", calls[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bytes_of(others[i], bytes);
        ck_assert_msg(!hs_decoder_aarch64.ends_with_call(bytes + 4, 4), "%08x", others[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aarch64");
    TCase *cases = tcase_create("decoder");
    tcase_add_loop_test(cases, encodings, 0, sizeof known / sizeof *known);
    tcase_add_test(cases, wide_moves);
    tcase_add_test(cases, cut_off);
    tcase_add_test(cases, starts);
    tcase_add_test(cases, ends);
    suite_add_tcase(suite, cases);
    return run_suite_in_one_process(suite);
}
