// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/decoder/describe.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

// A Thumb instruction of 32 bits has its first halfword in the upper half.
struct known {
    uint32_t code;
    const char *text;
};

static const struct known arm[] = {
    {0xe92d4070, "[r13-16]=r4 [r13-12]=r5 [r13-8]=r6 [r13-4]=r14 r13=r13-16"}, // push {r4, r5, r6, lr}
    {0xe8bd8070, "return r4=[r13+0] r5=[r13+4] r6=[r13+8] r13=r13+16"},        // pop {r4, r5, r6, pc}
    {0xe8bd4070, "r4=[r13+0] r5=[r13+4] r6=[r13+8] r14=[r13+12] r13=r13+16"},  // pop {r4, r5, r6, lr}
    {0x18bd8010, "conditional return r4=[r13+0] r13=r13+8"},                   // popne {r4, pc}
    {0xe52de004, "[r13-4]=r14 r13=r13-4"},                                     // str lr, [sp, #-4]!
    {0xe49df004, "return r13=r13+4"},                                          // ldr pc, [sp], #4
    {0xe49de008, "r14=[r13+0] r13=r13+8"},                                     // ldr lr, [sp], #8
    {0xe1a0c00d, "r12=r13+0"},                                                 // mov ip, sp
    {0xe92dd800, "[r13-16]=r11 [r13-12]=r12 [r13-8]=r14 r13=r13-16"},          // push {fp, ip, lr, pc}
    {0xe24cb004, "r11=r12-4"},                                                 // sub fp, ip, #4
    {0xe91ba800, "return r13=[r11-8] r11=[r11-12]"},                           // ldmdb fp, {fp, sp, pc}
    {0xe24bd020, "r13=r11-32"},                                                // sub sp, fp, #32
    {0xe1a0d00b, "r13=r11+0"},                                                 // mov sp, fp
    {0xe24dda01, "r13=r13-4096"},                                              // sub sp, sp, #4096
    {0xe28ddfff, "r13=r13+1020"},                                              // add sp, sp, #1020
    {0xe04dd003, "r13=r13-r3"},                                                // sub sp, sp, r3
    {0xe08dd00c, "r13=r13+r12"},                                               // add sp, sp, r12
    {0xe04dd103, "r13=?"},                                                     // sub sp, sp, r3, lsl #2
    {0xe3cdd007, "r13=?"},                                                     // bic sp, sp, #7
    {0xe301c234, "r12=#4660"},                                                 // movw r12, #0x1234
    {0xe34fcffe, "r12=r12|-131072"},                                           // movt r12, #0xfffe
    {0xe3e0300f, "r3=#-16"},                                                   // mvn r3, #15
    {0xe3833c01, "r3=r3|256"},                                                 // orr r3, r3, #0x100
    {0xe1a04185, "r4=r5<<3"},                                                  // lsl r4, r5, #3
    {0xe1a041a5, "r4=?"},                                                      // lsr r4, r5, #3
    {0xe2654000, "r4=?"},                                                      // rsb r4, r5, #0
    {0xe51f3008, "r3=#-450940920"},                                            // ldr r3, [pc, #-8]
    {0xe59f3004, "r3=?"},                                                      // ldr r3, [pc, #4]
    {0xe58d400c, "[r13+12]=r4"},                                               // str r4, [sp, #12]
    {0xe78d4001, ""},                                                          // str r4, [sp, r1]
    {0xe5354008, "r4=[r5-8] r5=r5-8"},                                         // ldr r4, [r5, #-8]!
    {0xe6954006, "r4=[r5+0] r5=?"},                                            // ldr r4, [r5], r6
    {0xe56d4001, "r13=r13-1"},                                                 // strb r4, [sp, #-1]!
    {0xe16d41f0, "[r13-16]=r4 [r13-12]=r5 r13=r13-16"},                        // strd r4, r5, [sp, #-16]!
    {0xe0cd40d8, "r4=[r13+0] r5=[r13+4] r13=r13+8"},                           // ldrd r4, r5, [sp], #8
    {0xe1c440d0, "r5=[r4+4] r4=[r4+0]"},                                       // ldrd r4, r5, [r4]
    {0xe0d540b2, "r4=? r5=r5+2"},                                              // ldrh r4, [r5], #2
    {0xe9a40060, "[r4+4]=r5 [r4+8]=r6 r4=r4+8"},                               // stmib r4!, {r5, r6}
    {0xe8040060, "[r4-4]=r5 [r4+0]=r6"},                                       // stmda r4, {r5, r6}
    {0xe8940070, "r5=[r4+4] r6=[r4+8] r4=[r4+0]"},                             // ldm r4, {r4, r5, r6}
    {0xea000002, "jump 0x1010"},                                               // b .+16
    {0x1a000002, "branch 0x1010"},                                             // bne .+16
    {0xebffffee, "call 0xfc0"},                                                // bl .-64
    {0x1b000000, "conditional call 0x1008"},                                   // blne .+8
    {0xfa000002, "call 0x1011"},                                               // blx .+16
    {0xe12fff33, "call"},                                                      // blx r3
    {0xe12fff1e, "return"},                                                    // bx lr
    {0x012fff1e, "conditional return"},                                        // bxeq lr
    {0xe12fff13, "indirect"},                                                  // bx r3
    {0xe12fff1c, "indirect r12=?"},                                            // bx ip
    {0xe08cf00f, "indirect r12=?"},                                            // add pc, ip, pc
    {0xe1a0f00e, "return"},                                                    // mov pc, lr
    {0xe1a0f004, "indirect"},                                                  // mov pc, r4
    {0x908ff103, "conditional indirect"},                                      // addls pc, pc, r3, lsl #2
    {0x979ff103, "conditional indirect"},                                      // ldrls pc, [pc, r3, lsl #2]
    {0xe5bcf004, "indirect r12=r12+4"},                                        // ldr pc, [r12, #4]!
    {0xe25ef004, "return"},                                                    // subs pc, lr, #4
    {0xef000000, "r0=?"},                                                      // svc #0
    {0xe7f000f0, "stop"},                                                      // udf #0
    {0xee1d4f70, "r4=?"},                                                      // mrc p15, 0, r4, c13, c0, 3
    {0xed2d8b04, "r13=r13-16"},                                                // vpush {d8, d9}
    {0xecbd8b02, "r13=r13+8"},                                                 // vpop {d8}
    {0xee104a10, "r4=?"},                                                      // vmov r4, s0
    {0xec554b10, "r4=? r5=?"},                                                 // vmov r4, r5, d0
    {0xeef1fa10, ""},                                                          // vmrs APSR_nzcv, fpscr
    {0xeef14a10, "r4=?"},                                                      // vmrs r4, fpscr
    {0xf42487dd, "r4=?"},                                                      // vld1.64 {d8}, [r4:64]!
    {0xf40487df, ""},                                                          // vst1.64 {d8}, [r4:64]
    {0xf2020d44, ""},                                                          // vadd.f32 q0, q1, q2
    {0xe1954f9f, "r4=?"},                                                      // ldrex r4, [r5]
    {0xe1b64f9f, "r4=? r5=?"},                                                 // ldrexd r4, r5, [r6]
    {0xe1864f95, "r4=?"},                                                      // strex r4, r5, [r6]
    {0xe186fc94, ""},                                                          // stl r4, [r6]
    {0xe0040695, "r4=?"},                                                      // mul r4, r5, r6
    {0xe0854796, "r5=? r4=?"},                                                 // umull r4, r5, r6, r7
    {0xe1454786, "r5=? r4=?"},                                                 // smlalbb r4, r5, r6, r7
    {0xe714f615, "r4=?"},                                                      // sdiv r4, r5, r6
    {0xe7e140d5, "r4=?"},                                                      // ubfx r4, r5, #1, #2
    {0xe6ef4075, "r4=?"},                                                      // uxtb r4, r5
    {0xe16f4f15, "r4=?"},                                                      // clz r4, r5
    {0xe10f4000, "r4=?"},                                                      // mrs r4, cpsr
    {0xe128f004, ""},                                                          // msr cpsr_f, r4
    {0xf57ff05b, ""},                                                          // dmb ish
    {0xf5d4f000, ""},                                                          // pld [r4]
    {0xe1540005, ""},                                                          // cmp r4, r5
    {0xe3140001, ""},                                                          // tst r4, #1
    {0xe320f000, ""},                                                          // nop
    {0xe1200070, ""},                                                          // bkpt #0
    {0xe1a84f96, "r4=?"},                                                      // strexd r4, r6, r7, [r8]
    {0xe7454716, "r5=? r4=?"},                                                 // smlald r4, r5, r6, r7
    {0xe754f615, "r4=?"},                                                      // smmul r4, r5, r6
    {0xe784f615, "r4=?"},                                                      // usad8 r4, r5, r6
    {0xe1054046, "r4=?"},                                                      // crc32b r4, r5, r6
    {0xe1064055, "r4=?"},                                                      // qadd r4, r5, r6
};

static const struct known thumb[] = {
    {0xb530, "[r13-12]=r4 [r13-8]=r5 [r13-4]=r14 r13=r13-12"},     // push {r4, r5, lr}
    {0xbd30, "return r4=[r13+0] r5=[r13+4] r13=r13+12"},           // pop {r4, r5, pc}
    {0xbc30, "r4=[r13+0] r5=[r13+4] r13=r13+8"},                   // pop {r4, r5}
    {0xe92d4110, "[r13-12]=r4 [r13-8]=r8 [r13-4]=r14 r13=r13-12"}, // push.w {r4, r8, lr}
    {0xe8bd8110, "return r4=[r13+0] r8=[r13+4] r13=r13+12"},       // pop.w {r4, r8, pc}
    {0xe8bd4110, "r4=[r13+0] r8=[r13+4] r14=[r13+8] r13=r13+12"},  // pop.w {r4, r8, lr}
    {0xf84ded04, "[r13-4]=r14 r13=r13-4"},                         // str lr, [sp, #-4]!
    {0xf85dfb04, "return r13=r13+4"},                              // ldr pc, [sp], #4
    {0xf85deb08, "r14=[r13+0] r13=r13+8"},                         // ldr lr, [sp], #8
    {0xb082, "r13=r13-8"},                                         // sub sp, #8
    {0xb07f, "r13=r13+508"},                                       // add sp, #508
    {0xaf04, "r7=r13+16"},                                         // add r7, sp, #16
    {0xa403, "r4=#4112"},                                          // adr r4, .+16
    {0xf5ad5d80, "r13=r13-4096"},                                  // sub.w sp, sp, #4096
    {0xf2ad4dd2, "r13=r13-1234"},                                  // subw sp, sp, #1234
    {0xf20d47d2, "r7=r13+1234"},                                   // addw r7, sp, #1234
    {0x46bd, "r13=r7+0"},                                          // mov sp, r7
    {0x466f, "r7=r13+0"},                                          // mov r7, sp
    {0x44a5, "r13=r13+r4"},                                        // add sp, r4
    {0xebad0d04, "r13=r13-r4"},                                    // sub.w sp, sp, r4
    {0xebad0d84, "r13=?"},                                         // sub.w sp, sp, r4, lsl #2
    {0x3710, "r7=r7+16"},                                          // adds r7, #16
    {0x3f10, "r7=r7-16"},                                          // subs r7, #16
    {0x24ff, "r4=#255"},                                           // movs r4, #255
    {0x2c01, ""},                                                  // cmp r4, #1
    {0x1cec, "r4=r5+3"},                                           // adds r4, r5, #3
    {0x1eec, "r4=r5-3"},                                           // subs r4, r5, #3
    {0x19ac, "r4=r5+r6"},                                          // adds r4, r5, r6
    {0x1bac, "r4=r5-r6"},                                          // subs r4, r5, r6
    {0x012c, "r4=r5<<4"},                                          // lsls r4, r5, #4
    {0x002c, "r4=r5+0"},                                           // movs r4, r5
    {0x092c, "r4=?"},                                              // lsrs r4, r5, #4
    {0x432c, "r4=?"},                                              // orrs r4, r5
    {0x422c, ""},                                                  // tst r4, r5
    {0xf2412434, "r4=#4660"},                                      // movw r4, #0x1234
    {0xf2c80401, "r4=r4|-2147418112"},                             // movt r4, #0x8001
    {0xf04f1412, "r4=#1179666"},                                   // mov.w r4, #0x00120012
    {0xf46f447f, "r4=#-65281"},                                    // mvn r4, #0xff00
    {0xf0445490, "r4=r4|301989888"},                               // orr r4, r4, #0x12000000
    {0xf024040f, "r4=?"},                                          // bic.w r4, r4, #15
    {0xea4f3405, "r4=r5<<12"},                                     // lsl.w r4, r5, #12
    {0xea4f0809, "r8=r9+0"},                                       // mov.w r8, r9
    {0xea440405, "r4=?"},                                          // orr.w r4, r4, r5
    {0x4c02, "r4=?"},                                              // ldr r4, [pc, #8]
    {0xf85f4004, "r4=#1074067551"},                                // ldr.w r4, [pc, #-4]
    {0xf8dff004, "indirect"},                                      // ldr.w pc, [pc, #4]
    {0x9403, "[r13+12]=r4"},                                       // str r4, [sp, #12]
    {0x9c03, "r4=[r13+12]"},                                       // ldr r4, [sp, #12]
    {0x67ec, "[r5+124]=r4"},                                       // str r4, [r5, #124]
    {0x6fec, "r4=[r5+124]"},                                       // ldr r4, [r5, #124]
    {0x706c, ""},                                                  // strb r4, [r5, #1]
    {0x786c, "r4=?"},                                              // ldrb r4, [r5, #1]
    {0x59ac, "r4=?"},                                              // ldr r4, [r5, r6]
    {0x51ac, ""},                                                  // str r4, [r5, r6]
    {0xf8cd8190, "[r13+400]=r8"},                                  // str.w r8, [sp, #400]
    {0xf8578c04, "r8=[r7-4]"},                                     // ldr.w r8, [r7, #-4]
    {0xf8578f04, "r8=[r7+4] r7=r7+4"},                             // ldr.w r8, [r7, #4]!
    {0xf8578026, "r8=?"},                                          // ldr.w r8, [r7, r6, lsl #2]
    {0xf857f026, "indirect"},                                      // ldr.w pc, [r7, r6, lsl #2]
    {0xf8178b01, "r8=? r7=r7+1"},                                  // ldrb.w r8, [r7], #1
    {0xe96d4e04, "[r13-16]=r4 [r13-12]=r14 r13=r13-16"},           // strd r4, lr, [sp, #-16]!
    {0xe8fd4504, "r4=[r13+0] r5=[r13+4] r13=r13+16"},              // ldrd r4, r5, [sp], #16
    {0xe9d44502, "r5=[r4+12] r4=[r4+8]"},                          // ldrd r4, r5, [r4, #8]
    {0xe9200030, "[r0-8]=r4 [r0-4]=r5 r0=r0-8"},                   // stmdb r0!, {r4, r5}
    {0xc030, "[r0+0]=r4 [r0+4]=r5 r0=r0+8"},                       // stmia r0!, {r4, r5}
    {0xcc03, "r0=[r4+0] r1=[r4+4] r4=r4+8"},                       // ldmia r4!, {r0, r1}
    {0xcc30, "r5=[r4+4] r4=[r4+0]"},                               // ldmia r4, {r4, r5}
    {0xe9148020, "return r5=[r4-8]"},                              // ldmdb r4, {r5, pc}
    {0xe006, "jump 0x1011"},                                       // b .+16
    {0xf000bffe, "jump 0x2001"},                                   // b.w .+4096
    {0xd106, "branch 0x1011"},                                     // bne .+16
    {0xf04087fe, "branch 0x2001"},                                 // bne.w .+4096
    {0xf000f81e, "call 0x1041"},                                   // bl .+64
    {0xf7ffffde, "call 0xfc1"},                                    // bl .-64
    {0xf000e820, "call 0x1044"},                                   // blx .+64
    {0x4798, "call"},                                              // blx r3
    {0x4770, "return"},                                            // bx lr
    {0x4718, "indirect"},                                          // bx r3
    {0x4778, "indirect r12=?"},                                    // bx pc
    {0x4760, "indirect r12=?"},                                    // bx ip
    {0x46f7, "return"},                                            // mov pc, lr
    {0x46a7, "indirect"},                                          // mov pc, r4
    {0x449f, "indirect"},                                          // add pc, r3
    {0xb144, "branch 0x1015"},                                     // cbz r4, .+20
    {0xb9e4, "branch 0x103d"},                                     // cbnz r4, .+60
    {0xe8dff004, "indirect"},                                      // tbb [pc, r4]
    {0xe8dff014, "indirect"},                                      // tbh [pc, r4, lsl #1]
    {0xdf00, "r0=?"},                                              // svc #0
    {0xde00, "stop"},                                              // udf #0
    {0xf7f0a000, "stop"},                                          // udf.w #0
    {0xba80, "stop"},                                              // hlt #0
    {0xbe00, ""},                                                  // bkpt #0
    {0xbf00, ""},                                                  // nop
    {0xf3af8000, ""},                                              // nop.w
    {0xbf08, ""},                                                  // it eq
    {0xb22c, "r4=?"},                                              // sxtheq r4, r5
    {0xba2c, "r4=?"},                                              // rev r4, r5
    {0xb658, ""},                                                  // setend be
    {0xb662, ""},                                                  // cpsie i
    {0xed2d8b04, "r13=r13-16"},                                    // vpush {d8, d9}
    {0xecbd8a01, "r13=r13+4"},                                     // vpop {s16}
    {0xee104a10, "r4=?"},                                          // vmov r4, s0
    {0xec554b10, "r4=? r5=?"},                                     // vmov r4, r5, d0
    {0xf92487dd, "r4=?"},                                          // vld1.64 {d8}, [r4:64]!
    {0xef020d44, ""},                                              // vadd.f32 q0, q1, q2
    {0xff220944, ""},                                              // vmls.i32 q0, q1, q2
    {0xee1d4f70, "r4=?"},                                          // mrc p15, 0, r4, c13, c0, 3
    {0xee074fba, ""},                                              // mcr p15, 0, r4, c7, c10, 5
    {0xe8554f00, "r4=?"},                                          // ldrex r4, [r5]
    {0xe8465400, "r4=?"},                                          // strex r4, r5, [r6]
    {0xe8d6457f, "r4=? r5=?"},                                     // ldrexd r4, r5, [r6]
    {0xe8c86774, "r4=?"},                                          // strexd r4, r6, r7, [r8]
    {0xe8d64f4f, "r4=?"},                                          // ldrexb r4, [r6]
    {0xe8c65f54, "r4=?"},                                          // strexh r4, r5, [r6]
    {0xe8d64faf, "r4=?"},                                          // lda r4, [r6]
    {0xe8c64faf, ""},                                              // stl r4, [r6]
    {0xfb05f406, "r4=?"},                                          // mul r4, r5, r6
    {0xfba64507, "r5=? r4=?"},                                     // umull r4, r5, r6, r7
    {0xfb95f4f6, "r4=?"},                                          // sdiv r4, r5, r6
    {0xfa05f406, "r4=?"},                                          // lsl.w r4, r5, r6
    {0xfa5ff885, "r8=?"},                                          // uxtb.w r8, r5
    {0xfab5f485, "r4=?"},                                          // clz r4, r5
    {0xf3c50441, "r4=?"},                                          // ubfx r4, r5, #1, #2
    {0xf3650442, "r4=?"},                                          // bfi r4, r5, #1, #2
    {0xf3ef8400, "r4=?"},                                          // mrs r4, apsr
    {0xf3848800, ""},                                              // msr apsr_nzcvq, r4
    {0xf3bf8f5b, ""},                                              // dmb ish
    {0xf894f000, ""},                                              // pld [r4]
    {0xf5b47f7a, ""},                                              // cmp.w r4, #1000
    {0xea140f05, ""},                                              // tst.w r4, r5
    {0xf3de8f00, "return"},                                        // subs pc, lr, #0
};

static size_t put(uint8_t *bytes, uint32_t code, bool in_thumb)
{
    bool wide = in_thumb && code >> 16;
    uint32_t word = wide ? code >> 16 | code << 16 : code;
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
    return wide || !in_thumb ? 4 : 2;
}

START_TEST(arm_encodings)
{
    uint8_t bytes[4];
    size_t length = put(bytes, arm[_i].code, false);
    ck_assert_str_eq(describe_bytes(&hs_decoder_arm, bytes, length), arm[_i].text);
}
END_TEST

START_TEST(thumb_encodings)
{
    uint8_t bytes[4];
    size_t length = put(bytes, thumb[_i].code, true);
    ck_assert_str_eq(describe_bytes(&hs_decoder_thumb, bytes, length), thumb[_i].text);
}
END_TEST

START_TEST(not_decoded)
{
    // empty lists, the kernel's own, holes of the encoding
    static const uint32_t arm_words[] = {0xe8bd0000, 0xf8bd0a00, 0xf84d0500, 0xf0000000, 0xff000000, 0xe1000020};
    static const uint32_t thumb_codes[] = {0xb400,     0xbc00,     0xc000,     0xb6a0,     0xb8ff,     0xe8bd0000,
                                           0xe98dc000, 0xe89f0010, 0xf0a00000, 0xf860f000, 0xf000e801, 0xfa00000f};
    uint8_t bytes[4];
    for (size_t i = 0; i < sizeof arm_words / sizeof *arm_words; i++) {
        put(bytes, arm_words[i], false);
        ck_assert_msg(strcmp(describe_bytes(&hs_decoder_arm, bytes, 4), "none") == 0, "%08x", arm_words[i]);
    }
    for (size_t i = 0; i < sizeof thumb_codes / sizeof *thumb_codes; i++) {
        size_t length = put(bytes, thumb_codes[i], true);
        ck_assert_msg(strcmp(describe_bytes(&hs_decoder_thumb, bytes, length), "none") == 0, "%08x", thumb_codes[i]);
    }
}
END_TEST

START_TEST(cut_off)
{
    static const uint8_t wide[] = {0x2d, 0xe9, 0x10, 0x41};
    for (size_t length = 0; length < 4; length++) {
        uint8_t *copy = malloc(length ? length : 1);
        memcpy(copy, wide, length);
        ck_assert_str_eq(describe_bytes(&hs_decoder_thumb, copy, length), "none");
        ck_assert_str_eq(describe_bytes(&hs_decoder_arm, copy, length), "none");
        free(copy);
    }
}
END_TEST

// Each line of code on its own, the context carried along.
static void expect_run(const struct hs_decoder *decoder, const uint32_t *code, const char *const *texts, size_t count)
{
    uint32_t context = 0;
    uintptr_t address = 0x1000;
    for (size_t i = 0; i < count; i++) {
        struct hs_instruction instruction;
        uint8_t bytes[4];
        size_t length = put(bytes, code[i], decoder == &hs_decoder_thumb);
        decoder->decode(bytes, length, address, &context, &instruction);
        ck_assert_str_eq(describe_instruction(&instruction), texts[i]);
        address += instruction.size;
    }
}

START_TEST(blocks)
{
    // itete eq; popeq {pc}; addne sp, #8; beq.w; bxne lr; bx lr
    static const uint32_t code[] = {0xbf0b, 0xbd00, 0xb002, 0xf000b800, 0x4770, 0x4770};
    static const char *const texts[] = {
        "", "conditional return r13=r13+4", "conditional r13=r13+8", "branch 0x100b", "conditional return", "return"};
    expect_run(&hs_decoder_thumb, code, texts, 6);
    // it al; movs r4, #1; ittt ne; three; one more
    static const uint32_t other[] = {0xbfe8, 0x2401, 0xbf1c, 0x2401, 0x2401, 0x2401};
    static const char *const other_texts[] = {"", "r4=#1", "", "conditional r4=#1", "conditional r4=#1", "r4=#1"};
    expect_run(&hs_decoder_thumb, other, other_texts, 6);
}
END_TEST

START_TEST(calls_by_hand)
{
    // mov lr, pc; bx r3; bx r3; mov lr, pc; ldr pc, [r3, #4]; mov lr, pc; mov r0, r1; bx r3
    static const uint32_t code[] = {0xe1a0e00f, 0xe12fff13, 0xe12fff13, 0xe1a0e00f,
                                    0xe593f004, 0xe1a0e00f, 0xe1a00001, 0xe12fff13};
    static const char *const texts[] = {"r14=?", "call", "indirect", "r14=?", "call", "r14=?", "r0=r1+0", "indirect"};
    expect_run(&hs_decoder_arm, code, texts, 8);
}
END_TEST

START_TEST(literals)
{
    // ldr r3, [pc, #4]; two words; -4096 at 12
    static const uint8_t code[] = {0x04, 0x30, 0x9f, 0xe5, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xf0, 0xff, 0xff};
    ck_assert_str_eq(describe_bytes(&hs_decoder_arm, code, 16), "r3=#-4096");
    ck_assert_str_eq(describe_bytes(&hs_decoder_arm, code, 15), "r3=?");
    // ldr r4, [pc, #4]; nop; at 8
    static const uint8_t narrow[] = {0x01, 0x4c, 0x00, 0xbf, 0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12};
    ck_assert_str_eq(describe_bytes(&hs_decoder_thumb, narrow, 12), "r4=#305419896");
    ck_assert_str_eq(describe_bytes(&hs_decoder_thumb, narrow, 11), "r4=?");
    // the same at an address that is no multiple of 4: the literal is 6 on
    struct hs_instruction instruction;
    uint32_t context = 0;
    ck_assert(hs_decoder_thumb.decode(narrow, 12, 0x1002, &context, &instruction));
    ck_assert_str_eq(describe_instruction(&instruction), "r4=#1450704896");
}
END_TEST

// Decodes instructions one after the other, up to the last one.
static void decode_last(const struct hs_decoder *decoder, const uint8_t *bytes, size_t length, size_t last,
                        struct hs_instruction *instruction)
{
    uint32_t context = 0;
    for (size_t at = 0; at <= last; at += instruction->size)
        ck_assert(decoder->decode(bytes + at, length - at, 0x1000 + at, &context, instruction));
}

START_TEST(thumb_switches)
{
    // cmp r0, #2; bhi; tbb [pc, r0]; 2, 4, 3; the nearest target is at 12
    static const uint8_t code[] = {0x02, 0x28, 0x10, 0xd8, 0xdf, 0xe8, 0x00, 0xf0, 2, 4, 3, 0, 0, 0xbf, 0, 0xbf};
    struct hs_instruction instruction;
    decode_last(&hs_decoder_thumb, code, sizeof code, 4, &instruction);
    ck_assert_int_eq(instruction.flow, HS_FLOW_INDIRECT);
    ck_assert_uint_eq(instruction.data, 0x1008);
    ck_assert_uint_eq(instruction.data_size, 4);
    ck_assert_uint_eq(instruction.case_count, 3);
    ck_assert_uint_eq(instruction.case_size, 1);
    ck_assert_uint_eq(instruction.case_scale, 2);
    ck_assert_uint_eq(instruction.case_base, 0x1009);
    // without the comparison the cases are not known, and the table ends at the nearest target
    uint32_t context = 0;
    ck_assert(hs_decoder_thumb.decode(code + 4, sizeof code - 4, 0x1004, &context, &instruction));
    ck_assert_uint_eq(instruction.case_count, 0);
    ck_assert_uint_eq(instruction.data_size, 4);
    // cmp.w r1, #1; tbh [pc, r1, lsl #1]
    static const uint8_t wide[] = {0xb1, 0xf1, 0x01, 0x0f, 0xdf, 0xe8, 0x11, 0xf0, 2, 0, 3, 0, 0, 0xbf};
    decode_last(&hs_decoder_thumb, wide, sizeof wide, 4, &instruction);
    ck_assert_uint_eq(instruction.case_count, 2);
    ck_assert_uint_eq(instruction.case_size, 2);
    ck_assert_uint_eq(instruction.data_size, 4);
    // cmp r0, #2; movs r0, #1: the comparison says nothing of the new value
    static const uint8_t changed[] = {0x02, 0x28, 0x01, 0x20, 0xdf, 0xe8, 0x00, 0xf0, 2, 4, 3, 0};
    decode_last(&hs_decoder_thumb, changed, sizeof changed, 4, &instruction);
    ck_assert_uint_eq(instruction.case_count, 0);
}
END_TEST

START_TEST(arm_switches)
{
    struct hs_instruction instruction;
    // cmp r3, #4; addls pc, pc, r3, lsl #2
    static const uint8_t branches[] = {0x04, 0x00, 0x53, 0xe3, 0x03, 0xf1, 0x8f, 0x90};
    decode_last(&hs_decoder_arm, branches, sizeof branches, 4, &instruction);
    ck_assert_int_eq(instruction.flow, HS_FLOW_INDIRECT);
    ck_assert(instruction.conditional);
    ck_assert_uint_eq(instruction.case_count, 5);
    ck_assert_uint_eq(instruction.case_size, 0);
    ck_assert_uint_eq(instruction.case_base, 0x100c);
    ck_assert_uint_eq(instruction.case_scale, 4);
    ck_assert_uint_eq(instruction.data_size, 0);
    // cmp r3, #4; ldrls pc, [pc, r3, lsl #2]
    static const uint8_t addresses[] = {0x04, 0x00, 0x53, 0xe3, 0x03, 0xf1, 0x9f, 0x97};
    decode_last(&hs_decoder_arm, addresses, sizeof addresses, 4, &instruction);
    ck_assert_uint_eq(instruction.case_count, 5);
    ck_assert_uint_eq(instruction.case_size, 4);
    ck_assert_uint_eq(instruction.case_base, 0);
    ck_assert_uint_eq(instruction.data, 0x100c);
    ck_assert_uint_eq(instruction.data_size, 20);
    // cmp r2, #4; of another register
    static const uint8_t other[] = {0x04, 0x00, 0x52, 0xe3, 0x03, 0xf1, 0x8f, 0x90};
    decode_last(&hs_decoder_arm, other, sizeof other, 4, &instruction);
    ck_assert_uint_eq(instruction.case_count, 0);
}
END_TEST

START_TEST(constants)
{
    static const struct {
        const struct hs_decoder *decoder;
        uint32_t code;
        uintptr_t data;
        unsigned size;
    } known_data[] = {
        {&hs_decoder_arm, 0xe59f3004, 0x100c, 4},   // ldr r3, [pc, #4]
        {&hs_decoder_arm, 0xe51f3004, 0x1004, 4},   // ldr r3, [pc, #-4]
        {&hs_decoder_arm, 0xe1cf40d8, 0x1010, 8},   // ldrd r4, r5, [pc, #8]
        {&hs_decoder_arm, 0xe1df40b8, 0x1010, 2},   // ldrh r4, [pc, #8]
        {&hs_decoder_arm, 0xed9f0b02, 0x1010, 8},   // vldr d0, [pc, #8]
        {&hs_decoder_arm, 0xed9f0a02, 0x1010, 4},   // vldr s0, [pc, #8]
        {&hs_decoder_arm, 0xe59d3004, 0, 0},        // ldr r3, [sp, #4]
        {&hs_decoder_thumb, 0x4c02, 0x100c, 4},     // ldr r4, [pc, #8]
        {&hs_decoder_thumb, 0xf85f4004, 0x1000, 4}, // ldr.w r4, [pc, #-4]
        {&hs_decoder_thumb, 0xe9df4502, 0x100c, 8}, // ldrd r4, r5, [pc, #8]
        {&hs_decoder_thumb, 0xed9f0b02, 0x100c, 8}, // vldr d0, [pc, #8]
        {&hs_decoder_thumb, 0xf8bf4008, 0x100c, 2}, // ldrh.w r4, [pc, #8]
        {&hs_decoder_thumb, 0xf89ff008, 0, 0},      // pld [pc, #8]
    };
    for (size_t i = 0; i < sizeof known_data / sizeof *known_data; i++) {
        struct hs_instruction instruction;
        uint32_t context = 0;
        uint8_t bytes[4];
        size_t length = put(bytes, known_data[i].code, known_data[i].decoder == &hs_decoder_thumb);
        ck_assert(known_data[i].decoder->decode(bytes, length, 0x1000, &context, &instruction));
        ck_assert_uint_eq(instruction.data_size, known_data[i].size);
        if (known_data[i].size)
            ck_assert_uint_eq(instruction.data, known_data[i].data);
    }
}
END_TEST

static bool starts(const struct hs_decoder *decoder, uint32_t first, uint32_t second)
{
    uint8_t bytes[8];
    bool in_thumb = decoder == &hs_decoder_thumb;
    size_t length = put(bytes, first, in_thumb);
    length += put(bytes + length, second, in_thumb);
    return decoder->starts_function(bytes, length);
}

START_TEST(starts_of_functions)
{
    ck_assert(starts(&hs_decoder_arm, 0xe92d4070, 0));           // push {r4, r5, r6, lr}
    ck_assert(starts(&hs_decoder_arm, 0xe52de004, 0));           // push {lr}
    ck_assert(starts(&hs_decoder_arm, 0xe1a0c00d, 0xe92dd800));  // mov ip, sp; push {fp, ip, lr, pc}
    ck_assert(starts(&hs_decoder_arm, 0xe92d000f, 0xe92d4010));  // push {r0-r3}; push {r4, lr}
    ck_assert(!starts(&hs_decoder_arm, 0xe92d000f, 0xe24dd008)); // push {r0-r3}; sub sp, sp, #8
    ck_assert(!starts(&hs_decoder_arm, 0xe1a0c00d, 0xe5810000)); // mov ip, sp; str r0, [r1]
    ck_assert(!starts(&hs_decoder_arm, 0xe92d0070, 0xe1a00000)); // push {r4, r5, r6}
    ck_assert(!starts(&hs_decoder_arm, 0xe24dd008, 0xe1a00000)); // sub sp, sp, #8
    ck_assert(!starts(&hs_decoder_arm, 0, 0));
    ck_assert(starts(&hs_decoder_thumb, 0xb510, 0xbf00));     // push {r4, lr}
    ck_assert(starts(&hs_decoder_thumb, 0xe92d41f0, 0xbf00)); // push.w {r4-r8, lr}
    ck_assert(starts(&hs_decoder_thumb, 0xf84ded04, 0xbf00)); // str lr, [sp, #-4]!
    ck_assert(starts(&hs_decoder_thumb, 0xb40f, 0xb510));     // push {r0-r3}; push {r4, lr}
    ck_assert(!starts(&hs_decoder_thumb, 0xb40f, 0xbf00));    // push {r0-r3}; nop
    ck_assert(!starts(&hs_decoder_thumb, 0xb430, 0xb510));    // push {r4, r5}
    ck_assert(!starts(&hs_decoder_thumb, 0xb082, 0xbf00));    // sub sp, #8
    ck_assert(!starts(&hs_decoder_thumb, 0, 0));
}
END_TEST

static bool calls(const struct hs_decoder *decoder, uint32_t before, uint32_t last)
{
    uint8_t bytes[8];
    bool in_thumb = decoder == &hs_decoder_thumb;
    size_t length = put(bytes, before, in_thumb);
    length += put(bytes + length, last, in_thumb);
    return decoder->ends_with_call(bytes + length, length);
}

START_TEST(ends_of_calls)
{
    ck_assert(calls(&hs_decoder_arm, 0, 0xebffffee));          // bl
    ck_assert(calls(&hs_decoder_arm, 0, 0x1bffffee));          // blne
    ck_assert(calls(&hs_decoder_arm, 0, 0xfbffffee));          // blx
    ck_assert(calls(&hs_decoder_arm, 0, 0xe12fff33));          // blx r3
    ck_assert(calls(&hs_decoder_arm, 0xe1a0e00f, 0xe12fff13)); // mov lr, pc; bx r3
    ck_assert(calls(&hs_decoder_arm, 0xe1a0e00f, 0xe593f004)); // mov lr, pc; ldr pc, [r3, #4]
    ck_assert(!calls(&hs_decoder_arm, 0, 0xe12fff13));         // bx r3
    ck_assert(!calls(&hs_decoder_arm, 0, 0xea000000));         // b
    ck_assert(!calls(&hs_decoder_arm, 0xe1a0e00f, 0xe1a00000));
    ck_assert(calls(&hs_decoder_thumb, 0xbf00, 0xf000f81e));  // bl
    ck_assert(calls(&hs_decoder_thumb, 0xbf00, 0xf000e820));  // blx
    ck_assert(calls(&hs_decoder_thumb, 0xbf00, 0x4798));      // blx r3
    ck_assert(!calls(&hs_decoder_thumb, 0xbf00, 0xf000b800)); // b.w
    ck_assert(!calls(&hs_decoder_thumb, 0xbf00, 0x4718));     // bx r3
    ck_assert(!calls(&hs_decoder_thumb, 0xbf00, 0xbf00));
    uint8_t bytes[4];
    put(bytes, 0xf000f81e, true);
    ck_assert(!hs_decoder_thumb.ends_with_call(bytes + 4, 2));
    ck_assert(!hs_decoder_thumb.ends_with_call(bytes + 4, 0));
    ck_assert(!hs_decoder_arm.ends_with_call(bytes + 4, 3));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arm");
    TCase *cases = tcase_create("decoder");
    tcase_add_loop_test(cases, arm_encodings, 0, sizeof arm / sizeof *arm);
    tcase_add_loop_test(cases, thumb_encodings, 0, sizeof thumb / sizeof *thumb);
    tcase_add_test(cases, not_decoded);
    tcase_add_test(cases, cut_off);
    tcase_add_test(cases, blocks);
    tcase_add_test(cases, calls_by_hand);
    tcase_add_test(cases, literals);
    tcase_add_test(cases, thumb_switches);
    tcase_add_test(cases, arm_switches);
    tcase_add_test(cases, constants);
    tcase_add_test(cases, starts_of_functions);
    tcase_add_test(cases, ends_of_calls);
    suite_add_tcase(suite, cases);
    return run_suite_in_one_process(suite);
}
