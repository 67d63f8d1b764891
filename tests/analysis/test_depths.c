// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Code in which paths come to one place with different frames: where they do, nothing is told that holds for one of
// them alone.
#include "tests/suite.h"
#include "unwind/analysis.h"

#include <check.h>
#include <stdlib.h>

struct sample {
    const char *name;
    const struct hs_decoder *decoder;
    const char *bytes;
    size_t size, return_address;
    int cfa_register; // -1: nothing may be told
    int cfa_offset;
};

#define CODE(text) text, sizeof(text) - 1
static const struct sample samples[] = {
    // push rbp; mov rbp, rsp; jmp 2f; 1: push rax; 2: sub rcx, 1; jge 1b; call r8; leave; ret
    {"amd64, frame pointer", &hs_decoder_amd64,
     CODE("\x55\x48\x89\xe5\xeb\x01\x50\x48\x83\xe9\x01\x7d\xf9\x41\xff\xd0\xc9\xc3"), 16, 6, 16},
    // push rbp; mov rbp, rsp; push rax; push rax; call r8; leave; ret: what is called may take the two off the stack
    {"amd64, frame pointer and arguments", &hs_decoder_amd64, CODE("\x55\x48\x89\xe5\x50\x50\x41\xff\xd0\xc9\xc3"), 9,
     6, 16},
    // push rbp; push rbx; sub rsp, 24; mov rbp, rsp; lea rbx, [rsp+24]; 1: mov rdi, rbp; call r8; add rbp, 8; cmp rbp,
    // rbx; jne 1b; add rsp, 24; pop rbx; pop rbp; ret
    {"amd64, fp walks over an array", &hs_decoder_amd64,
     CODE("\x55\x53\x48\x83\xec\x18\x48\x89\xe5\x48\x8d\x5c\x24\x18\x48\x89\xef\x41\xff\xd0\x48\x83\xc5\x08"
          "\x48\x39\xdd\x75\xf1\x48\x83\xc4\x18\x5b\x5d\xc3"),
     20, 7, 48},
    // push rbp; mov rbp, rsp; sub rsp, 32; 1: mov rdi, rbp; call r8; sub rbp, 8; cmp rbp, rsp; jne 1b; add rsp, 32; pop
    // rbp; ret
    {"amd64, fp walks down from the end of an array", &hs_decoder_amd64,
     CODE("\x55\x48\x89\xe5\x48\x83\xec\x20\x48\x89\xef\x41\xff\xd0\x48\x83\xed\x08\x48\x39\xe5\x75\xf1\x48"
          "\x83\xc4\x20\x5d\xc3"),
     14, 7, 48},
    // push rbx; jmp 2f; 1: push rax; 2: sub rcx, 1; jge 1b; call r8; ret
    {"amd64", &hs_decoder_amd64, CODE("\x53\xeb\x01\x50\x48\x83\xe9\x01\x7d\xf9\x41\xff\xd0\xc3"), 13, -1, 0},
    // push rbx; call r8; 1: push rax; sub rcx, 1; jge 1b; call r9; ret
    {"amd64, before a loop behind a call", &hs_decoder_amd64,
     CODE("\x53\x41\xff\xd0\x50\x48\x83\xe9\x01\x7d\xf9\x41\xff\xd1\xc3"), 4, 7, 16},
    {"amd64, a loop behind a call", &hs_decoder_amd64,
     CODE("\x53\x41\xff\xd0\x50\x48\x83\xe9\x01\x7d\xf9\x41\xff\xd1\xc3"), 14, -1, 0},
    // sub rsp, 8; test edi, edi; jne 2f; push rax; push rax; call r8; 1: call r9; add rsp, 8; ret; 2: call r10; jmp 1b
    {"amd64, behind a call that does not come back", &hs_decoder_amd64,
     CODE("\x48\x83\xec\x08\x85\xff\x75\x0d\x50\x50\x41\xff\xd0\x41\xff\xd1\x48\x83\xc4\x08\xc3\x41\xff\xd2\xeb\xf3"),
     16, 7, 16},
    // stp x29, x30, [sp, -16]!; mov x29, sp; 1: str x0, [sp, -16]!; subs x1, x1, 1; b.ge 1b; blr x2; mov sp, x29;
    // ldp x29, x30, [sp], 16; ret
    {"aarch64, frame pointer", &hs_decoder_aarch64,
     CODE("\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xe0\x0f\x1f\xf8\x21\x04\x00\xf1\xca\xff\xff\x54\x40\x00\x3f\xd6"
          "\xbf\x03\x00\x91\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6"),
     24, 29, 16},
    // stp x29, x30, [sp, -64]!; str x19, [sp, 16]; add x29, sp, 32; add x19, sp, 64; 1: mov x0, x29; blr x2; add x29,
    // x29, 8; cmp x29, x19; b.ne 1b; ldr x19, [sp, 16]; ldp x29, x30, [sp], 64; ret
    {"aarch64, fp walks over an array", &hs_decoder_aarch64,
     CODE("\xfd\x7b\xbc\xa9\xf3\x0b\x00\xf9\xfd\x83\x00\x91\xf3\x03\x01\x91\xe0\x03\x1d\xaa\x40\x00\x3f\xd6"
          "\xbd\x23\x00\x91\xbf\x03\x13\xeb\x81\xff\xff\x54\xf3\x0b\x40\xf9\xfd\x7b\xc4\xa8\xc0\x03\x5f\xd6"),
     24, 31, 64},
    // stp x29, x30, [sp, -16]!; mov x29, sp; sub sp, sp, 32; 1: mov x0, x29; blr x2; sub x29, x29, 8; cmp sp, x29; b.ne
    // 1b; add sp, sp, 32; ldp x29, x30, [sp], 16; ret
    {"aarch64, fp walks down from the end of an array", &hs_decoder_aarch64,
     CODE("\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xff\x83\x00\xd1\xe0\x03\x1d\xaa\x40\x00\x3f\xd6\xbd\x23\x00\xd1"
          "\xff\x63\x3d\xeb\x81\xff\xff\x54\xff\x83\x00\x91\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6"),
     20, 31, 48},
    // stp x29, x30, [sp, -16]!; mov x29, sp; stp x0, x1, [sp, -16]!; blr x2; mov sp, x29; ldp x29, x30, [sp], 16; ret
    {"aarch64, frame pointer and arguments", &hs_decoder_aarch64,
     CODE("\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xe0\x07\xbf\xa9\x40\x00\x3f\xd6\xbf\x03\x00\x91\xfd\x7b\xc1\xa8"
          "\xc0\x03\x5f\xd6"),
     16, 29, 16},
    // str x30, [sp, -16]!; 1: str x0, [sp, -16]!; subs x1, x1, 1; b.ge 1b; blr x2; brk 0
    {"aarch64", &hs_decoder_aarch64,
     CODE("\xfe\x0f\x1f\xf8\xe0\x0f\x1f\xf8\x21\x04\x00\xf1\xca\xff\xff\x54\x40\x00\x3f\xd6\x00\x00\x20\xd4"), 20, -1,
     0},
    // push {r11, lr}; mov r11, sp; 1: push {r0}; subs r1, r1, 1; bge 1b; blx r2; mov sp, r11; pop {r11, pc}
    {"arm, frame pointer", &hs_decoder_arm,
     CODE("\x00\x48\x2d\xe9\x0d\xb0\xa0\xe1\x04\x00\x2d\xe5\x01\x10\x51\xe2\xfc\xff\xff\xaa\x32\xff\x2f\xe1"
          "\x0b\xd0\xa0\xe1\x00\x88\xbd\xe8"),
     24, 11, 8},
    // push {r4, r11, lr}; sub sp, sp, 20; mov r11, sp; add r4, sp, 16; 1: mov r0, r11; blx r2; add r11, r11, 4; cmp
    // r11, r4; bne 1b; add sp, sp, 20; pop {r4, r11, pc}
    {"arm, fp walks over an array", &hs_decoder_arm,
     CODE("\x10\x48\x2d\xe9\x14\xd0\x4d\xe2\x0d\xb0\xa0\xe1\x10\x40\x8d\xe2\x0b\x00\xa0\xe1\x32\xff\x2f\xe1"
          "\x04\xb0\x8b\xe2\x04\x00\x5b\xe1\xfa\xff\xff\x1a\x14\xd0\x8d\xe2\x10\x88\xbd\xe8"),
     24, 13, 32},
    // push {r11, lr}; mov r11, sp; sub sp, sp, 16; 1: mov r0, r11; blx r2; sub r11, r11, 4; cmp r11, sp; bne 1b; add
    // sp, sp, 16; pop {r11, pc}
    {"arm, fp walks down from the end of an array", &hs_decoder_arm,
     CODE("\x00\x48\x2d\xe9\x0d\xb0\xa0\xe1\x10\xd0\x4d\xe2\x0b\x00\xa0\xe1\x32\xff\x2f\xe1\x04\xb0\x4b\xe2"
          "\x0d\x00\x5b\xe1\xfa\xff\xff\x1a\x10\xd0\x8d\xe2\x00\x88\xbd\xe8"),
     20, 13, 24},
    // push {r11, lr}; mov r11, sp; push {r0, r1}; blx r2; mov sp, r11; pop {r11, pc}
    {"arm, frame pointer and arguments", &hs_decoder_arm,
     CODE("\x00\x48\x2d\xe9\x0d\xb0\xa0\xe1\x03\x00\x2d\xe9\x32\xff\x2f\xe1\x0b\xd0\xa0\xe1\x00\x88\xbd\xe8"), 16, 11,
     8},
    // push {r4, lr}; 1: push {r0}; subs r1, r1, 1; bge 1b; blx r2; udf
    {"arm", &hs_decoder_arm,
     CODE("\x10\x40\x2d\xe9\x04\x00\x2d\xe5\x01\x10\x51\xe2\xfc\xff\xff\xaa\x32\xff\x2f\xe1\xf0\x00\xf0\xe7"), 20, -1,
     0},
    {"thumb, frame pointer", &hs_decoder_thumb,
     CODE("\x80\xb5\x6f\x46\x01\xb4\x01\x39\xfc\xda\x90\x47\xbd\x46\x80\xbd"), 12, 7, 8},
    // push {r4, r7, lr}; sub sp, sp, 20; mov r7, sp; add r4, sp, 16; 1: mov r0, r7; blx r2; add r7, r7, 4; cmp r7, r4;
    // bne 1b; add sp, sp, 20; pop {r4, r7, pc}
    {"thumb, fp walks over an array", &hs_decoder_thumb,
     CODE("\x90\xb5\x85\xb0\x6f\x46\x04\xac\x38\x46\x90\x47\x07\xf1\x04\x07\xa7\x42\xf9\xd1\x05\xb0\x90\xbd"), 12, 13,
     32},
    // push {r7, lr}; mov r7, sp; sub sp, sp, 16; 1: mov r0, r7; blx r2; sub r7, r7, 4; cmp r7, sp; bne 1b; add sp, sp,
    // 16; pop {r7, pc}
    {"thumb, fp walks down from the end of an array", &hs_decoder_thumb,
     CODE("\x80\xb5\x6f\x46\x84\xb0\x38\x46\x90\x47\xa7\xf1\x04\x07\x6f\x45\xf9\xd1\x04\xb0\x80\xbd"), 10, 13, 24},
    {"thumb", &hs_decoder_thumb, CODE("\x10\xb5\x01\xb4\x01\x39\xfc\xda\x90\x47\x00\xde"), 10, -1, 0},
    // daddiu sp, -16; sd ra, 8(sp); sd fp, 0(sp); move fp, sp; 1: daddiu sp, -16; bgtz a1, 1b; daddiu a1, -1; jalr t9;
    // nop; move sp, fp; ld ra, 8(sp); ld fp, 0(sp); jr ra; daddiu sp, 16
    {"mips64el, frame pointer", &hs_decoder_mips64el,
     CODE("\xf0\xff\xbd\x67\x08\x00\xbf\xff\x00\x00\xbe\xff\x25\xf0\xa0\x03\xf0\xff\xbd\x67\xfe\xff\xa0\x1c"
          "\xff\xff\xa5\x64\x09\xf8\x20\x03\x00\x00\x00\x00\x25\xe8\xc0\x03\x08\x00\xbf\xdf\x00\x00\xbe\xdf"
          "\x08\x00\xe0\x03\x10\x00\xbd\x67"),
     36, 30, 16},
    // daddiu sp, -48; sd ra, 40(sp); sd fp, 32(sp); sd s0, 24(sp); move fp, sp; daddiu s0, sp, 24; 1: jalr t9; move a0,
    // fp; daddiu fp, 8; bne fp, s0, 1b; nop; ld ra, 40(sp); ld fp, 32(sp); ld s0, 24(sp); jr ra; daddiu sp, 48
    {"mips64el, fp walks over an array", &hs_decoder_mips64el,
     CODE("\xd0\xff\xbd\x67\x28\x00\xbf\xff\x20\x00\xbe\xff\x18\x00\xb0\xff\x25\xf0\xa0\x03\x18\x00\xb0\x67"
          "\x09\xf8\x20\x03\x25\x20\xc0\x03\x08\x00\xde\x67\xfc\xff\xd0\x17\x00\x00\x00\x00\x28\x00\xbf\xdf"
          "\x20\x00\xbe\xdf\x18\x00\xb0\xdf\x08\x00\xe0\x03\x30\x00\xbd\x67"),
     32, 29, 48},
    // daddiu sp, -48; sd ra, 40(sp); sd fp, 32(sp); daddiu fp, sp, 32; 1: jalr t9; move a0, fp; daddiu fp, -8; bne fp,
    // sp, 1b; nop; ld ra, 40(sp); ld fp, 32(sp); jr ra; daddiu sp, 48
    {"mips64el, fp walks down from the end of an array", &hs_decoder_mips64el,
     CODE("\xd0\xff\xbd\x67\x28\x00\xbf\xff\x20\x00\xbe\xff\x20\x00\xbe\x67\x09\xf8\x20\x03\x25\x20\xc0\x03"
          "\xf8\xff\xde\x67\xfc\xff\xdd\x17\x00\x00\x00\x00\x28\x00\xbf\xdf\x20\x00\xbe\xdf\x08\x00\xe0\x03"
          "\x30\x00\xbd\x67"),
     24, 29, 48},
    // daddiu sp, -16; sd ra, 8(sp); sd fp, 0(sp); move fp, sp; daddiu sp, -16; jalr t9; nop; move sp, fp; ld ra, 8(sp);
    // ld fp, 0(sp); jr ra; daddiu sp, 16
    {"mips64el, frame pointer and arguments", &hs_decoder_mips64el,
     CODE("\xf0\xff\xbd\x67\x08\x00\xbf\xff\x00\x00\xbe\xff\x25\xf0\xa0\x03\xf0\xff\xbd\x67\x09\xf8\x20\x03"
          "\x00\x00\x00\x00\x25\xe8\xc0\x03\x08\x00\xbf\xdf\x00\x00\xbe\xdf\x08\x00\xe0\x03\x10\x00\xbd\x67"),
     28, 30, 16},
    // daddiu sp, -16; sd ra, 8(sp); 1: daddiu sp, -16; bgtz a1, 1b; daddiu a1, -1; jalr t9; nop; break
    {"mips64el", &hs_decoder_mips64el,
     CODE("\xf0\xff\xbd\x67\x08\x00\xbf\xff\xf0\xff\xbd\x67\xfe\xff\xa0\x1c\xff\xff\xa5\x64\x09\xf8\x20\x03"
          "\x00\x00\x00\x00\x0d\x00\x00\x00"),
     28, -1, 0},
    // runtime.asmcgocall of Go: sp of another stack is loaded on one of two paths
    {"mips64el, another stack on one path", &hs_decoder_mips64el,
     CODE("\xf8\xff\xbf\xff\xf8\xff\xbd\x63\x00\x00\xbf\xff\x10\x00\xb9\xdf\x18\x00\xa4\xdf\x25\x18\x1d\x00"
          "\x25\x10\x1e\x00\x30\x00\xc5\xdf\x48\x00\xa6\xdc\x0a\x00\xde\x10\x00\x00\x00\x00\x00\x00\xa6\xdc"
          "\x07\x00\xde\x10\x00\x00\x00\x00\xb8\x7b\x02\x0c\x00\x00\x00\x00\x25\xf0\x06\x00\x28\x84\x02\x0c"
          "\x00\x00\x00\x00\x38\x00\xdd\xdf\xf0\xff\xbd\x63\x00\x00\xa2\xff\x08\x00\x42\xdc\x2f\x10\x43\x00"
          "\x08\x00\xa2\xff\x09\xf8\x20\x03\x00\x00\x00\x00\x00\x00\xbe\xdf\x28\x84\x02\x0c\x00\x00\x00\x00"
          "\x08\x00\xc5\xdf\x08\x00\xa6\xdf\x2f\x28\xa6\x00\x25\xe8\x05\x00\x20\x00\xa2\xaf\x00\x00\xbf\xdf"
          "\x08\x00\xbd\x63\x08\x00\xe0\x03\x00\x00\x00\x00"),
     0x6c, -1, 0},
};

START_TEST(depths)
{
    const struct sample *sample = &samples[_i];
    struct hs_code code = {.bytes = (const uint8_t *)sample->bytes, .size = sample->size, .address = 0x10000};
    struct hs_code_frame frame;
    void *memory = calloc(1, hs_analysis_memory_size(sample->decoder, code.size));
    uintptr_t at = code.address + sample->return_address - sample->decoder->call_size;
    bool known = hs_analyse(sample->decoder, &code, at, false, memory, &frame);
    free(memory);
    ck_assert_msg(known == (sample->cfa_register >= 0), "%s: %d", sample->name, known);
    if (!known)
        return;
    ck_assert_msg(frame.cfa_register == sample->cfa_register, "%s: register %u", sample->name, frame.cfa_register);
    ck_assert_msg(frame.cfa_offset == sample->cfa_offset, "%s: offset %d", sample->name, frame.cfa_offset);
    ck_assert_msg(!frame.guessed, "%s", sample->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("depths");
    TCase *cases = tcase_create("depths");
    tcase_add_loop_test(cases, depths, 0, sizeof samples / sizeof *samples);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
