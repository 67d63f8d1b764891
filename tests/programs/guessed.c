// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A hundred blocks below a function that the program has made itself: it has a frame pointer, and nobody knows its
// code. With "pushed", an interpreter as Java's: the return address is no call's, code pushes it and jumps.
#include "made_code.h"
#include "program.h"

#include <stdbool.h>
#include <sys/mman.h>

#if defined __x86_64__
// push rbp; mov rbp, rsp; lea rax, [back]; push rax; jmp function; eight nops; back: pop rbp; ret; function: as above
static const unsigned char pushing[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x0b, 0x00, 0x00, 0x00,
                                        0x50, 0xeb, 0x0a, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                        0x5d, 0xc3, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined __aarch64__
// stp x29, x30, [sp, -16]!; mov x29, sp; adr x30, back; b function; nop; nop; back: ldp x29, x30, [sp], 16; ret;
// function: as above
static const uint32_t pushing[] = {0xa9bf7bfd, 0x910003fd, 0x1000009e, 0x14000005, 0xd503201f, 0xd503201f, 0xa8c17bfd,
                                   0xd65f03c0, 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
#define pushing made_code
#endif

static void *blocks[100];

static void allocate_all(void)
{
    for (size_t i = 0; i < 100; i++)
        blocks[i] = allocate(100 + i);
}

int main(int count, char **words)
{
    const bool pushes = count > 1 && !strcmp(words[1], "pushed");
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED);
    memcpy(memory, pushes ? (const void *)pushing : (const void *)made_code,
           pushes ? sizeof pushing : sizeof made_code);
    __builtin___clear_cache(memory, memory + 4096);
    made_at(memory)(allocate_all);
    for (size_t i = 0; i < 100; i++)
        free(blocks[i]);
    say("100 blocks\n");
    return 0;
}
