// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/decoder/describe.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct known {
    const char *bytes;
    size_t size;
    const char *text;
} known[] = {
    {"\x55", 1, "r7=r7-8 [r7+0]=r6"},                              // push rbp
    {"\x41\x57", 2, "r7=r7-8 [r7+0]=r15"},                         // push r15
    {"\x54", 1, "r7=r7-8"},                                        // push rsp
    {"\x66\x53", 2, "r7=r7-2"},                                    // pushw bx
    {"\x6a\x05", 2, "r7=r7-8"},                                    // push 5
    {"\x68\x78\x56\x34\x12", 5, "r7=r7-8"},                        // push 0x12345678
    {"\xff\x75\x08", 3, "r7=r7-8"},                                // push qword ptr [rbp+8]
    {"\x5b", 1, "r3=[r7+0] r7=r7+8"},                              // pop rbx
    {"\x5c", 1, "r7=[r7+0]"},                                      // pop rsp
    {"\x8f\x00", 2, "r7=r7+8"},                                    // pop qword ptr [rax]
    {"\x9c", 1, "r7=r7-8"},                                        // pushfq
    {"\x9d", 1, "r7=r7+8"},                                        // popfq
    {"\x0f\xa0", 2, "r7=r7-8"},                                    // push fs
    {"\x48\x89\xe5", 3, "r6=r7+0"},                                // mov rbp, rsp
    {"\x48\x89\xec", 3, "r7=r6+0"},                                // mov rsp, rbp
    {"\x89\xc3", 2, "r3=?"},                                       // mov ebx, eax
    {"\x88\xc3", 2, "r3=?"},                                       // mov bl, al
    {"\x88\xc7", 2, "r3=?"},                                       // mov bh, al
    {"\x40\x88\xc5", 3, "r6=?"},                                   // mov bpl, al
    {"\x48\x89\x5c\x24\x08", 5, "[r7+8]=r3"},                      // mov [rsp+8], rbx
    {"\x4c\x89\x65\xf0", 4, "[r6-16]=r12"},                        // mov [rbp-0x10], r12
    {"\x4c\x89\x38", 3, "[r0+0]=r15"},                             // mov [rax], r15
    {"\x49\x89\x5d\x00", 4, "[r13+0]=r3"},                         // mov [r13+0], rbx
    {"\x49\x89\x9c\x24\x00\x10\x00\x00", 8, "[r12+4096]=r3"},      // mov [r12+0x1000], rbx
    {"\x48\x89\x5c\x44\x08", 5, ""},                               // mov [rsp+rax*2+8], rbx
    {"\x89\x5c\x24\x08", 4, ""},                                   // mov [rsp+8], ebx
    {"\x64\x48\x89\x5d\x00", 5, ""},                               // mov fs:[rbp], rbx
    {"\x48\x89\x1d\x10\x00\x00\x00", 7, ""},                       // mov [rip+0x10], rbx
    {"\x48\x89\x1c\x25\x10\x00\x00\x00", 8, ""},                   // mov [0x10], rbx
    {"\x67\x48\x89\x5d\x00", 5, ""},                               // mov [ebp], rbx
    {"\x48\x8b\x5c\x24\x08", 5, "r3=[r7+8]"},                      // mov rbx, [rsp+8]
    {"\x8b\x5c\x24\x08", 4, "r3=?"},                               // mov ebx, [rsp+8]
    {"\x64\x48\x8b\x1c\x25\x28\x00\x00\x00", 9, "r3=?"},           // mov rbx, fs:[0x28]
    {"\x48\xbb\x78\x56\x34\x12\x78\x56\x34\x12", 10, "r3=?"},      // movabs rbx, 0x1234567812345678
    {"\x48\xc7\xc3\xfb\xff\xff\xff", 7, "r3=#-5"},                 // mov rbx, -5
    {"\xbb\x05\x00\x00\x00", 5, "r3=#5"},                          // mov ebx, 5
    {"\xbb\xfb\xff\xff\xff", 5, "r3=?"},                           // mov ebx, -5
    {"\x66\xbb\x05\x00", 4, "r3=?"},                               // mov bx, 5
    {"\x48\xa1\x88\x77\x66\x55\x44\x33\x22\x11", 10, "r0=?"},      // movabs rax, [0x1122334455667788]
    {"\x48\x83\xec\x18", 4, "r7=r7-24"},                           // sub rsp, 0x18
    {"\x48\x81\xec\x00\x10\x00\x00", 7, "r7=r7-4096"},             // sub rsp, 0x1000
    {"\x48\x83\xc4\x80", 4, "r7=r7-128"},                          // add rsp, -0x80
    {"\x48\x29\xc4", 3, "r7=r7-r0"},                               // sub rsp, rax
    {"\x48\x01\xc4", 3, "r7=r7+r0"},                               // add rsp, rax
    {"\x48\x05\x78\x56\x34\x12", 6, "r0=r0+305419896"},            // add rax, 0x12345678
    {"\x48\x81\xec\x00\x00\x00\x80", 7, "r7=?"},                   // sub rsp, -0x80000000
    {"\x48\x83\xe4\xf0", 4, "r7=r7 aligned"},                      // and rsp, -16
    {"\x48\x83\xe4\x10", 4, "r7=?"},                               // and rsp, 16
    {"\x83\xe4\xf0", 3, "r7=?"},                                   // and esp, -16
    {"\x48\x83\xe2\xf0", 4, "r1=?"},                               // and rdx, -16
    {"\x48\x83\xcb\x01", 4, "r3=r3|1"},                            // or rbx, 1
    {"\x48\x83\xcb\xff", 4, "r3=?"},                               // or rbx, -1
    {"\x31\xdb", 2, "r3=#0"},                                      // xor ebx, ebx
    {"\x48\x31\xc3", 3, "r3=?"},                                   // xor rbx, rax
    {"\x66\x31\xdb", 3, "r3=?"},                                   // xor bx, bx
    {"\x48\x39\xec", 3, "compares r7 r6"},                         // cmp rsp, rbp
    {"\x4c\x3b\xdc", 3, "compares r7 r11"},                        // cmp r11, rsp
    {"\x39\xec", 2, ""},                                           // cmp esp, ebp
    {"\x48\x3b\x23", 3, ""},                                       // cmp rsp, [rbx]
    {"\x80\xfb\x03", 3, ""},                                       // cmp bl, 3
    {"\x48\x85\xdb", 3, ""},                                       // test rbx, rbx
    {"\xf7\xc3\x00\x01\x00\x00", 6, ""},                           // test ebx, 0x100
    {"\xf6\xc3\x01", 3, ""},                                       // test bl, 1
    {"\x48\xf7\xdb", 3, "r3=?"},                                   // neg rbx
    {"\x48\xf7\xeb", 3, "r0=? r1=?"},                              // imul rbx
    {"\xf6\xf3", 2, "r0=?"},                                       // div bl
    {"\x48\x6b\xd8\x03", 4, "r3=?"},                               // imul rbx, rax, 3
    {"\x49\xff\xc4", 3, "r12=r12+1"},                              // inc r12
    {"\xff\xcd", 2, "r6=?"},                                       // dec ebp
    {"\xfe\x00", 2, ""},                                           // inc byte ptr [rax]
    {"\x48\xc1\xe3\x04", 4, "r3=r3<<4"},                           // shl rbx, 4
    {"\x48\xd1\xe3", 3, "r3=r3<<1"},                               // shl rbx
    {"\x48\xc1\xeb\x04", 4, "r3=?"},                               // shr rbx, 4
    {"\x48\xd3\xe3", 3, "r3=?"},                                   // shl rbx, cl
    {"\x48\x8d\x65\xd8", 4, "r7=r6-40"},                           // lea rsp, [rbp-0x28]
    {"\x48\x8d\x2c\x24", 4, "r6=r7+0"},                            // lea rbp, [rsp]
    {"\x48\x8d\x2c\x04", 4, "r6=r7+r0"},                           // lea rbp, [rsp+rax]
    {"\x48\x8d\x6c\x04\x08", 5, "r6=r7+r0 r6=r6+8"},               // lea rbp, [rsp+rax+8]
    {"\x48\x8d\x2c\xc4", 4, "r6=?"},                               // lea rbp, [rsp+rax*8]
    {"\x48\x8d\x2d\x08\x00\x00\x00", 7, "0x100f r6=?"},            // lea rbp, [rip+8]
    {"\x8d\x6c\x24\x08", 4, "r6=?"},                               // lea ebp, [rsp+8]
    {"\xc9", 1, "r7=r6+0 r6=[r7+0] r7=r7+8"},                      // leave
    {"\xc8\x20\x00\x00", 4, "r7=r7-8 [r7+0]=r6 r6=r7+0 r7=r7-32"}, // enter 0x20, 0
    {"\xc8\x20\x00\x01", 4, "r7=? r6=?"},                          // enter 0x20, 1
    {"\x48\x94", 2, "r0=? r7=?"},                                  // xchg rsp, rax
    {"\x48\x87\xcb", 3, "r3=? r2=?"},                              // xchg rbx, rcx
    {"\x90", 1, ""},                                               // nop
    {"\x86\x18", 2, "r3=?"},                                       // xchg [rax], bl
    {"\xe8\xfb\x00\x00\x00", 5, "call 0x1100"},                    // call .+0x100
    {"\xff\xd0", 2, "call"},                                       // call rax
    {"\xff\x54\x24\x08", 4, "call"},                               // call [rsp+8]
    {"\xe9\xfb\x00\x00\x00", 5, "jump 0x1100"},                    // jmp .+0x100
    {"\xeb\x0e", 2, "jump 0x1010"},                                // jmp .+0x10
    {"\xff\xe0", 2, "indirect"},                                   // jmp rax
    {"\x3e\xff\x24\xc5\x00\x10\x00\x00", 8, "indirect"},           // notrack jmp [rax*8+0x1000]
    {"\x74\x0e", 2, "branch 0x1010"},                              // je .+0x10
    {"\x0f\x84\xfa\x00\x00\x00", 6, "branch 0x1100"},              // je .+0x100
    {"\x75\x0e", 2, "branch unless equal 0x1010"},                 // jne .+0x10
    {"\x0f\x85\xfa\x00\x00\x00", 6, "branch unless equal 0x1100"}, // jne .+0x100
    {"\xe3\x0e", 2, "branch 0x1010"},                              // jrcxz .+0x10
    {"\xe2\x0e", 2, "branch 0x1010 r2=?"},                         // loop .+0x10
    {"\xc7\xf8\x0a\x00\x00\x00", 6, "branch 0x1010 r0=?"},         // xbegin .+0x10
    {"\xc3", 1, "return"},                                         // ret
    {"\xc2\x08\x00", 3, "return"},                                 // ret 8
    {"\x48\xcb", 2, "return"},                                     // retfq
    {"\x48\xcf", 2, "return"},                                     // iretq
    {"\x0f\x0b", 2, "stop"},                                       // ud2
    {"\xf4", 1, "stop"},                                           // hlt
    {"\xcc", 1, "stop"},                                           // int3
    {"\x0f\x05", 2, "r0=? r2=? r11=?"},                            // syscall
    {"\xcd\x80", 2, "r0=?"},                                       // int 0x80
    {"\x0f\xa2", 2, "r3=? r0=? r2=? r1=?"},                        // cpuid
    {"\x0f\x31", 2, "r0=? r1=?"},                                  // rdtsc
    {"\x0f\x01\xf9", 3, "r0=? r1=? r2=?"},                         // rdtscp
    {"\xf3\x0f\x1e\xfa", 4, ""},                                   // endbr64
    {"\x0f\x1f\x04\x00", 4, ""},                                   // nop dword ptr [rax+rax+0]
    {"\x48\x0f\x45\xd8", 4, "r3=?"},                               // cmovne rbx, rax
    {"\x0f\x94\xc3", 3, "r3=?"},                                   // sete bl
    {"\x0f\x94\x04\x24", 4, ""},                                   // sete [rsp]
    {"\x0f\xb6\xd8", 3, "r3=?"},                                   // movzx ebx, al
    {"\x48\x0f\xbc\xd8", 4, "r3=?"},                               // bsf rbx, rax
    {"\xf3\x48\x0f\xb8\xd8", 5, "r3=?"},                           // popcnt rbx, rax
    {"\x48\x0f\xba\xe3\x03", 5, ""},                               // bt rbx, 3
    {"\x48\x0f\xba\xeb\x03", 5, "r3=?"},                           // bts rbx, 3
    {"\x49\x0f\xcc", 3, "r12=?"},                                  // bswap r12
    {"\x48\x0f\xb1\xcb", 4, "r0=? r3=?"},                          // cmpxchg rbx, rcx
    {"\xf0\x48\x0f\xb1\x0b", 5, "r0=?"},                           // lock cmpxchg [rbx], rcx
    {"\x48\x0f\xc1\x18", 4, "r3=?"},                               // xadd [rax], rbx
    {"\xf0\x48\x0f\xc7\x0e", 5, "r0=? r1=?"},                      // lock cmpxchg16b [rsi]
    {"\xf3\xa4", 2, "r4=? r5=? r2=?"},                             // rep movsb
    {"\x48\xab", 2, "r5=?"},                                       // stosq
    {"\xac", 1, "r4=? r0=?"},                                      // lodsb
    {"\x48\x0f\xc7\xf3", 4, "r3=?"},                               // rdrand rbx
    {"\xf3\x48\x0f\xae\xc3", 5, "r3=?"},                           // rdfsbase rbx
    {"\xf3\x48\x0f\x1e\xcb", 5, "r3=?"},                           // rdsspq rbx
    {"\x48\x0f\xc3\x5c\x24\x08", 6, "[r7+8]=r3"},                  // movnti [rsp+8], rbx
    {"\x48\x0f\x38\xf0\x18", 5, "r3=?"},                           // movbe rbx, [rax]
    {"\xf2\x48\x0f\x38\xf0\xd8", 6, "r3=?"},                       // crc32 rbx, al
    {"\x66\x48\x0f\x38\xf6\xd8", 6, "r3=?"},                       // adcx rbx, rax
    {"\x66\x48\x0f\x7e\xc3", 5, "r3=?"},                           // movq rbx, xmm0
    {"\x66\x48\x0f\x6e\xc3", 5, ""},                               // movq xmm0, rbx
    {"\x66\x0f\x7e\xc3", 4, "r3=?"},                               // movd ebx, xmm0
    {"\xf3\x0f\x7e\x44\x24\x08", 6, ""},                           // movq xmm0, [rsp+8]
    {"\xf2\x48\x0f\x2c\xd8", 5, "r3=?"},                           // cvttsd2si rbx, xmm0
    {"\x66\x0f\xd7\xd8", 4, "r3=?"},                               // pmovmskb ebx, xmm0
    {"\x66\x48\x0f\x3a\x16\xc3\x01", 7, "r3=?"},                   // pextrq rbx, xmm0, 1
    {"\x66\x0f\x3a\x63\xc1\x03", 6, "r2=?"},                       // pcmpistri xmm0, xmm1, 3
    {"\x0f\x29\x74\x24\x10", 5, ""},                               // movaps [rsp+0x10], xmm6
    {"\x66\x0f\x3a\x0f\xc1\x04", 6, ""},                           // palignr xmm0, xmm1, 4
    {"\xc4\xe1\xf9\x7e\xc3", 5, "r3=?"},                           // vmovq rbx, xmm0
    {"\xc5\x7d\xd7\xe0", 4, "r12=?"},                              // vpmovmskb r12d, ymm0
    {"\xc5\x7c\x11\x44\x24\x10", 6, ""},                           // vmovups [rsp+0x10], ymm8
    {"\xc4\xe3\x75\x0f\xc2\x04", 6, ""},                           // vpalignr ymm0, ymm1, ymm2, 4
    {"\xc5\xf8\x77", 3, ""},                                       // vzeroupper
    {"\xc4\xe2\xf8\xf2\xd9", 5, "r3=?"},                           // andn rbx, rax, rcx
    {"\xc4\xe2\xe0\xf3\xc8", 5, "r3=?"},                           // blsr rbx, rax
    {"\xc4\xe2\x9b\xf6\xd8", 5, "r3=? r12=?"},                     // mulx rbx, r12, rax
    {"\xc4\xe3\xfb\xf0\xd8\x03", 6, "r3=?"},                       // rorx rbx, rax, 3
    {"\xc4\xe2\xf1\xf7\xd8", 5, "r3=?"},                           // shlx rbx, rax, rcx
    {"\xc5\xfb\x93\xd9", 4, "r3=?"},                               // kmovd ebx, k1
    {"\xc5\xfb\x92\xcb", 4, ""},                                   // kmovd k1, ebx
    {"\x62\xe1\xfe\x48\x7f\x44\x24\x01", 8, ""},                   // vmovdqu64 [rsp+0x40], zmm16
    {"\x62\xf3\x75\x48\x25\xc2\xff", 7, ""},                       // vpternlogd zmm0, zmm1, zmm2, 0xff
    {"\x62\xf1\x7d\x20\x74\x07", 6, ""},                           // vpcmpeqb k0, ymm16, [rdi]
    {"\x62\xf1\xff\x08\x78\xd8", 6, "r3=?"},                       // vcvttsd2usi rbx, xmm0
    {"\x62\xf2\x7d\x48\x7a\xc3", 6, ""},                           // vpbroadcastb zmm0, ebx
    {"\xdf\xe0", 2, "r0=?"},                                       // fnstsw ax
    {"\xdb\x2c\x24", 3, ""},                                       // fld tbyte ptr [rsp]
    {"\x2e\x66\x0f\x1f\x04\x00", 6, ""},                           // cs nop word ptr [rax+rax*1+0x0]
    {"\x66\x48\x8d\x3d\x00\x00\x00\x00", 8, "0x1008 r5=?"},        // data16 lea rdi, [rip+0]
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

START_TEST(encodings)
{
    const struct known *one = &known[_i];
    const char *text = describe_bytes(&hs_decoder_amd64, one->bytes, one->size);
    ck_assert_msg(strcmp(text, one->text) == 0, "encoding %d: \"%s\", expected \"%s\"", _i, text, one->text);
}
END_TEST

// The size does not depend on what follows, and no part of an instruction passes for it.
START_TEST(sizes)
{
    const struct known *one = &known[_i];
    uint8_t bytes[32];
    struct hs_instruction instruction;
    uint32_t context = 0;
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes, one->bytes, one->size);
    ck_assert(hs_decoder_amd64.decode(bytes, sizeof bytes, 0x1000, &context, &instruction));
    ck_assert_uint_eq(instruction.size, one->size);
    for (size_t length = 0; length < one->size; length++) {
        uint8_t *cut = malloc(length + 1);
        memcpy(cut, one->bytes, length);
        ck_assert(!hs_decoder_amd64.decode(cut, length, 0x1000, &context, &instruction));
        ck_assert_uint_eq(instruction.size, 0);
        free(cut);
    }
}
END_TEST

START_TEST(no_instructions)
{
    static const char *const bytes[] = {
        "\x06",                 // push es
        "\x60",                 // pusha
        "\x82\xc0\x01",         // a twin of 80
        "\x9a\0\0\0\0\0\0",     // a far call
        "\x0f\x04\x90",         // no opcode
        "\x8d\xc0\x90",         // lea of a register
        "\xff\xf8\x90",         // no operation
        "\xc4\xe4\x78\x58\xc0", // a map that does not exist
    };
    for (size_t i = 0; i < LENGTH(bytes); i++) {
        char padded[16] = {0};
        strcpy(padded, bytes[i]);
        ck_assert_msg(strcmp(describe_bytes(&hs_decoder_amd64, padded, sizeof padded), "none") == 0, "%zu", i);
    }
    static const uint8_t prefixes_alone[15] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                               0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
    ck_assert_str_eq(describe_bytes(&hs_decoder_amd64, prefixes_alone, sizeof prefixes_alone), "none");
}
END_TEST

struct mark {
    const char *bytes;
    size_t size;
};

START_TEST(marks)
{
    static const struct mark starts[] = {
        {"\xf3\x0f\x1e\xfa", 4},
        {"\x55", 1},
        {"\x53", 1},
        {"\x41\x57", 2},
        {"\x48\x83\xec\x18", 4},
        {"\x48\x81\xec\0\x10\0\0", 7},
        {"\x4c\x8d\x54\x24\x08", 5},
    };
    static const struct mark others[] = {
        {"\x90", 1}, {"\xcc", 1}, {"\x0f\x1f\x40\0", 4}, {"\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 10},
        {"\xc3", 1}, {"\x41", 1}, {"\xf3\x0f\x1e", 3},   {"\x48\x83\xc4\x18", 4},
    };
    static const struct mark calls[] = {
        {"\xe8\0\0\0\0", 5},           {"\xff\xd0", 2},
        {"\x41\xff\xd4", 3},           {"\xff\x10", 2},
        {"\xff\x50\x08", 3},           {"\xff\x54\x24\x08", 4},
        {"\xff\x15\0\0\0\0", 6},       {"\xff\x90\0\x01\0\0", 6},
        {"\xff\x94\x24\0\x01\0\0", 7}, {"\xff\x14\xc5\0\0\0\0", 7},
        {"\xff\x14\x24", 3},
    };
    static const struct mark no_calls[] = {
        {"\xff\xe0", 2}, {"\x48\x89\xe5", 3}, {"\xe9\0\0\0\0", 5}, {"\xff\x30", 2}, {"\xd0", 1}, {"\xc3", 1},
    };
    for (size_t i = 0; i < LENGTH(starts); i++)
        ck_assert_msg(hs_decoder_amd64.starts_function((const uint8_t *)starts[i].bytes, starts[i].size), "%zu", i);
    for (size_t i = 0; i < LENGTH(others); i++)
        ck_assert_msg(!hs_decoder_amd64.starts_function((const uint8_t *)others[i].bytes, others[i].size), "%zu", i);
    for (size_t i = 0; i < LENGTH(calls); i++)
        ck_assert_msg(hs_decoder_amd64.ends_with_call((const uint8_t *)calls[i].bytes + calls[i].size, calls[i].size),
                      "%zu", i);
    for (size_t i = 0; i < LENGTH(no_calls); i++)
        ck_assert_msg(
            !hs_decoder_amd64.ends_with_call((const uint8_t *)no_calls[i].bytes + no_calls[i].size, no_calls[i].size),
            "%zu", i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("amd64");
    TCase *cases = tcase_create("decoder");
    tcase_add_loop_test(cases, encodings, 0, LENGTH(known));
    tcase_add_loop_test(cases, sizes, 0, LENGTH(known));
    tcase_add_test(cases, no_instructions);
    tcase_add_test(cases, marks);
    suite_add_tcase(suite, cases);
    return run_suite_in_one_process(suite);
}
