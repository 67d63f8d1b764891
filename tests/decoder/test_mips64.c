// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Every encoding is decoded in both byte orders.
#include "tests/decoder/describe.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct known {
    uint32_t word;
    const char *text;
};

static void bytes_of(uint32_t word, bool big_endian, uint8_t *bytes)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * (big_endian ? 3 - i : i));
}

static const struct known known[] = {
    // frames
    {0x67bdffe0, "r29=r29-32"}, // daddiu sp, sp, -32
    {0x67bd0020, "r29=r29+32"}, // daddiu sp, sp, 32
    {0xffbf0018, "[r29+24]=r31"},
    {0xffbf8000, "[r29-32768]=r31"},
    {0xdfbf0018, "r31=[r29+24]"},
    {0xffbe0010, "[r29+16]=r30"},
    {0xffc40008, "[r30+8]=r4"},
    {0xffa00008, ""},           // sd zero: nothing is saved
    {0xdfa00008, ""},           // ld zero: nothing is loaded
    {0xafbf0018, ""},           // sw ra: half of it
    {0xb3bf0018, ""},           // sdl ra: a part of it
    {0xb7bf0018, ""},           // sdr ra
    {0x8fbf0018, "r31=?"},      // lw ra
    {0x6fbf0018, "r31=?"},      // ldr ra
    {0x8bb00018, "r16=?"},      // lwl s0
    {0x9fb00018, "r16=?"},      // lwu s0
    {0xe7b00018, ""},           // swc1 f16
    {0xd7b00018, ""},           // ldc1 f16
    {0xf7b00018, ""},           // sdc1 f16
    {0x4e930000, ""},           // lwxc1 f0, s3(s4)
    {0x03a0f025, "r30=r29+0"},  // move s8, sp
    {0x03c0e825, "r29=r30+0"},  // move sp, s8
    {0x03a0f02d, "r30=r29+0"},  // daddu s8, sp, zero
    {0x001df02d, "r30=r29+0"},  // daddu s8, zero, sp
    {0x03a3e82f, "r29=r29-r3"}, // dsubu sp, sp, v1
    {0x03a8e82d, "r29=r29+r8"}, // daddu sp, sp, a4
    {0x03a0f021, "r30=?"},      // addu s8, sp, zero: 32 bits
    {0x03a2e824, "r29=?"},      // and sp, sp, v0
    // constants
    {0x3c030001, "r3=#65536"},
    {0x3c038000, "r3=#-2147483648"},
    {0x346306e0, "r3=r3|1760"},
    {0x340306e0, "r3=#1760"},
    {0x3403ffff, "r3=#65535"},
    {0x24030005, "r3=#5"}, // li v1, 5
    {0x2403ffff, "r3=#-1"},
    {0x24630005, "r3=r3+5"},  // addiu
    {0x27a30005, "r3=?"},     // addiu v1, sp, 5: 32 bits of an address
    {0x64030c2e, "r3=#3118"}, // daddiu v1, zero, 3118
    {0x000520f8, "r4=r5<<3"},
    {0x000520fc, "r4=r5<<35"},
    {0x00052080, "r4=?"},  // sll a0, a1, 2
    {0x00001025, "r2=#0"}, // move v0, zero
    {0x00001021, "r2=#0"},
    {0x0005202f, "r4=?"},        // dnegu a0, a1
    {0x00a62025, "r4=?"},        // or a0, a1, a2
    {0x0399e02d, "r28=r28+r25"}, // daddu gp, gp, t9
    {0x00000000, ""},            // nop
    {0x0000000f, ""},            // sync
    // other arithmetic
    {0x2ca40001, "r4=?"},                                                                          // sltiu
    {0x30a40001, "r4=?"},                                                                          // andi
    {0x00a6202a, "r4=?"},                                                                          // slt
    {0x00a0200a, "r4=?"},                                                                          // movz
    {0x00a40018, ""},                                                                              // mult
    {0x00a4001f, ""},                                                                              // ddivu
    {0x00002012, "r4=?"},                                                                          // mflo
    {0x00800013, ""},                                                                              // mtlo
    {0x70a62002, "r4=?"},                                                                          // mul
    {0x70a60000, ""},                                                                              // madd
    {0x70a42020, "r4=?"},                                                                          // clz
    {0x7ca41846, "r4=?"},                                                                          // dinsu
    {0x7c052420, "r4=?"},                                                                          // seb
    {0x7c0520a4, "r4=?"},                                                                          // dsbh
    {0x7c03e83b, "r3=?"},                                                                          // rdhwr
    {0xc0a40000, "r4=?"},                                                                          // ll
    {0xd0a40000, "r4=?"},                                                                          // lld
    {0xe0a40000, "r4=?"},                                                                          // sc
    {0xf0a40000, "r4=?"},                                                                          // scd
    {0xcca40000, ""},                                                                              // pref
    {0x44100000, "r16=?"},                                                                         // mfc1 s0, f0
    {0x44700000, "r16=?"},                                                                         // mfhc1 s0, f0
    {0x44900000, ""},                                                                              // mtc1 s0, f0
    {0x46013932, ""},                                                                              // c.eq.s
    {0x41646000, "r4=?"},                                                                          // di a0
    {0x78791919, ""},                                                                              // splati.d w4, w3[1]
    {0x78b11919, "r4=?"},                                                                          // copy_s.w a0, w3[1]
    {0x0000000c, "r1=? r2=? r3=? r7=? r8=? r9=? r10=? r11=? r12=? r13=? r14=? r15=? r24=? r25=?"}, // syscall
    // where control goes; 0x1000 is here
    {0x0c048000, "delay call 0x120000 r31=?"},
    {0x08048000, "delay jump 0x120000"},
    {0x0320f809, "delay call r31=?"}, // jalr t9
    {0x03201009, "delay call r2=?"},  // jalr v0, t9
    {0x03e00008, "delay return"},
    {0x03e00408, "delay return"},   // jr.hb ra
    {0x03e00009, "delay return"},   // jr ra of release 6
    {0x03200008, "delay indirect"}, // jr t9
    {0x03200009, "delay indirect"}, // jr t9 of release 6
    {0x10000005, "delay jump 0x1018"},
    {0x1000ffff, "delay jump 0x1000"},
    {0x14800003, "delay branch 0x1010"},
    {0x1080fffe, "delay branch 0xffc"},
    {0x18800003, "delay branch 0x1010"}, // blez
    {0x1c800003, "delay branch 0x1010"}, // bgtz
    {0x04800003, "delay branch 0x1010"}, // bltz
    {0x04810003, "delay branch 0x1010"}, // bgez
    {0x04010003, "delay jump 0x1010"},   // bgez zero
    {0x50850003, "likely branch 0x1010"},
    {0x54850003, "likely branch 0x1010"},
    {0x58800003, "likely branch 0x1010"},
    {0x5c800003, "likely branch 0x1010"},
    {0x04820003, "likely branch 0x1010"},
    {0x45010003, "delay branch 0x1010"},  // bc1t
    {0x45030003, "likely branch 0x1010"}, // bc1tl
    {0x45610003, "delay branch 0x1010"},  // bz.v
    {0x04110009, "delay call 0x1028 r31=?"},
    {0x04110001, "r31=?"}, // bal to what comes next anyhow: asks for the pc
    {0x04910003, "delay call 0x1010 r31=?"},
    {0x04900003, "delay call 0x1010 r31=?"},
    {0x04100003, "r31=?"}, // nal
    {0x0000000d, "stop"},  // break
    {0x000001f4, "stop"},  // teq zero, zero, 7
    {0x00a001f4, ""},      // teq a1, zero, 7
    {0x42000018, "stop"},  // eret
    {0x70000003, ""},
    // Octeon
    {0xc8830003, "delay branch 0x1010"}, // bbit0
    {0xe883fffb, "delay branch 0xff0"},  // bbit1
    {0xd8830003, "delay branch 0x1010"}, // bbit032
    {0xf8830003, "delay branch 0x1010"}, // bbit132
    {0x708501ee, "r5=?"},                // seqi
    {0x708540fa, "r5=?"},                // exts
    {0x708540f2, "r5=?"},                // cins
    {0x70862828, "r5=?"},                // baddu
    {0x70862803, "r5=?"},                // dmul
    {0x7080282c, "r5=?"},                // pop
    // release 6
    {0xc8000003, "jump 0x1010"}, // bc
    {0xcbfffffb, "jump 0xff0"},
    {0xe8000003, "call 0x1010 r31=?"}, // balc
    {0xebfffffb, "call 0xff0 r31=?"},
    {0x20850003, "branch 0x1010"},     // beqc
    {0x60850003, "branch 0x1010"},     // bnec
    {0xd8800003, "branch 0x1010"},     // beqzc
    {0xf89ffffb, "branch 0xff0"},      // bnezc
    {0x58040003, "branch 0x1010"},     // blezc
    {0x5c840003, "branch 0x1010"},     // bltzc
    {0x58850003, "branch 0x1010"},     // bgec
    {0x1c850003, "branch 0x1010"},     // bltuc
    {0x18840003, "call 0x1010 r31=?"}, // bgezalc
    {0xd8190000, "indirect"},          // jrc t9
    {0xd81f0000, "return"},            // jrc ra
    {0xf8190000, "call r31=?"},        // jalrc t9
    {0xec9e0007, "r4=?"},              // auipc
    {0x3ca40001, "r4=r5+65536"},       // aui
    {0x74a40001, "r4=?"},              // daui
    {0x00a62035, "r4=?"},              // seleqz
    {0x00a6209c, "r4=?"},              // dmul
    {0x00a62045, "r4=?"},              // lsa
    {0x20a4fff8, "r4=r5-8"},           // addi of release 2
    {0x63bdfff0, "r29=r29-16"},        // daddi of release 2
    // no instruction
    {0x04050000, "none"},
};

START_TEST(encodings)
{
    const struct known *one = &known[_i];
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        const struct hs_decoder *decoder = big_endian ? &hs_decoder_mips64 : &hs_decoder_mips64el;
        uint8_t bytes[4];
        bytes_of(one->word, big_endian, bytes);
        const char *text = describe_bytes(decoder, bytes, sizeof bytes);
        ck_assert_msg(strcmp(text, one->text) == 0, "%08x: \"%s\", expected \"%s\"", one->word, text, one->text);
    }
}
END_TEST

START_TEST(cut_off)
{
    uint8_t code[4];
    bytes_of(0x03e00008, false, code);
    for (size_t length = 0; length < 4; length++) {
        ck_assert_str_eq(describe_bytes(&hs_decoder_mips64el, code, length), "none");
        ck_assert(!hs_decoder_mips64el.starts_function(code, length));
        ck_assert(!hs_decoder_mips64el.ends_with_call(code + length, length));
    }
}
END_TEST

// A jump keeps the upper bits of the address of its delay slot.
START_TEST(regions)
{
    uint8_t code[4];
    struct hs_instruction instruction;
    uint32_t context = 0;
    bytes_of(0x0c000004, true, code);
    ck_assert(hs_decoder_mips64.decode(code, 4, 0x12ffffffc, &context, &instruction));
    ck_assert_uint_eq(instruction.target, 0x130000010);
    ck_assert(hs_decoder_mips64.decode(code, 4, 0x12ffffff8, &context, &instruction));
    ck_assert_uint_eq(instruction.target, 0x120000010);
}
END_TEST

struct code {
    uint32_t words[4];
    unsigned count;
};

static bool starts(const struct code *code, bool big_endian)
{
    uint8_t bytes[16];
    for (unsigned i = 0; i < code->count; i++)
        bytes_of(code->words[i], big_endian, bytes + 4 * i);
    return (big_endian ? &hs_decoder_mips64 : &hs_decoder_mips64el)->starts_function(bytes, 4 * code->count);
}

static bool ends(const struct code *code, bool big_endian)
{
    uint8_t bytes[16];
    for (unsigned i = 0; i < code->count; i++)
        bytes_of(code->words[i], big_endian, bytes + 4 * i);
    return (big_endian ? &hs_decoder_mips64 : &hs_decoder_mips64el)
        ->ends_with_call(bytes + 4 * code->count, 4 * code->count);
}

START_TEST(starts_of_functions)
{
    static const struct code yes[] = {
        {{0x67bdffe0, 0xffbf0018}, 2}, {{0x67bdffe0, 0x10800003, 0xffbf0018}, 3}, // branches on between
        {{0x03a3e82f, 0xffbf0018}, 2},                                            // a large frame: dsubu sp, sp, v1
        {{0x3c1c0002, 0x0399e02d}, 2}, {{0x3c1c0002, 0x67bdffd0, 0x0399e02d}, 3},
        {{0x3c070002, 0x00f9382d}, 2},                                // another register than gp
        {{0xdf998010, 0x03e07825}, 2}, {{0xdf998010, 0x03e0782d}, 2}, // stubs
    };
    static const struct code no[] = {
        {{0x00000000, 0x67bdffe0, 0xffbf0018}, 3}, // padding
        {{0x67bdffe0}, 1},                         // room on the stack alone
        {{0xffbf0018, 0x67bdffe0}, 2},
        {{0x67bd0020, 0xffbf0018}, 2},
        {{0x03e00008, 0x67bdffe0, 0xffbf0018}, 3},
        {{0x67bdffe0, 0x0c048000, 0xffbf0018}, 3},
        {{0x67bdffe0, 0x10000003, 0xffbf0018}, 3},
        {{0x3c1c0002}, 1},
        {{0x3c070002, 0x0399e02d}, 2},
        {{0xdf998010, 0x03e07025}, 2},
        {{0xdf998010}, 1},
    };
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
            ck_assert_msg(starts(&yes[i], big_endian), "%zu", i);
        for (size_t i = 0; i < sizeof no / sizeof *no; i++)
            ck_assert_msg(!starts(&no[i], big_endian), "%zu", i);
    }
}
END_TEST

START_TEST(ends_with_calls)
{
    static const struct code yes[] = {
        {{0x0c048000, 0x00000000}, 2},
        {{0x0320f809, 0x64180c2e}, 2},
        {{0x04110009, 0x00000000}, 2},
        {{0x04910009, 0x00000000}, 2},
        {{0xe8000003}, 1},
        {{0x00000000, 0xf8190000}, 2},
    };
    static const struct code no[] = {
        {{0x0c048000}, 1},
        {{0x00000000, 0x0c048000}, 2},
        {{0x03200008, 0x00000000}, 2},
        {{0x04110001, 0x00000000}, 2},
        {{0x10000005, 0x00000000}, 2},
        {{0x03e00008, 0x67bd0020}, 2},
    };
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
            ck_assert_msg(ends(&yes[i], big_endian), "%zu", i);
        for (size_t i = 0; i < sizeof no / sizeof *no; i++)
            ck_assert_msg(!ends(&no[i], big_endian), "%zu", i);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mips64");
    TCase *cases = tcase_create("decoder");
    tcase_add_loop_test(cases, encodings, 0, sizeof known / sizeof *known);
    tcase_add_test(cases, cut_off);
    tcase_add_test(cases, regions);
    tcase_add_test(cases, starts_of_functions);
    tcase_add_test(cases, ends_with_calls);
    suite_add_tcase(suite, cases);
    return run_suite_in_one_process(suite);
}
