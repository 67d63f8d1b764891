// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Blocks below a function that pushes in a loop, as interpreters do with arguments: how deep its stack is only the
// frame pointer says. What it pushes is the address of a function, which is no return address.
#include "program.h"

void pushes(int count, void (*called)(void));

#if defined(__x86_64__)
__asm__(".text\n.globl pushes\n.type pushes, @function\npushes:\n"
        "push %rbp\nmov %rsp, %rbp\n1: test %edi, %edi\nje 2f\npush %rsi\npush %rsi\ndec %edi\njmp 1b\n"
        "2: call *%rsi\nleave\nret\n.size pushes, .-pushes\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl pushes\n.type pushes, %function\npushes:\n"
        "stp x29, x30, [sp, #-16]!\nmov x29, sp\n1: cbz w0, 2f\nstp x1, x1, [sp, #-16]!\nsub w0, w0, #1\nb 1b\n"
        "2: blr x1\nmov sp, x29\nldp x29, x30, [sp], #16\nret\n.size pushes, .-pushes\n");
#elif defined(__arm__)
__asm__(".text\n.arm\n.globl pushes\n.type pushes, %function\npushes:\n"
        "push {r11, lr}\nmov r11, sp\nmov r2, r1\n1: cmp r0, #0\nbeq 2f\npush {r1, r2}\nsub r0, r0, #1\nb 1b\n"
        "2: mov lr, pc\nbx r1\nmov sp, r11\npop {r11, lr}\nbx lr\n.size pushes, .-pushes\n");
#elif defined(__mips64)
__asm__(".text\n.set push\n.set noreorder\n.globl pushes\n.type pushes, @function\n.ent pushes\npushes:\n"
        "daddiu $sp, $sp, -16\nsd $31, 8($sp)\nsd $30, 0($sp)\nmove $30, $sp\n"
        "1: beqz $4, 2f\nnop\ndaddiu $sp, $sp, -16\nsd $5, 0($sp)\nsd $5, 8($sp)\naddiu $4, $4, -1\nb 1b\nnop\n"
        "2: move $25, $5\njalr $25\nnop\nmove $sp, $30\nld $31, 8($sp)\nld $30, 0($sp)\njr $31\n"
        "daddiu $sp, $sp, 16\n.end pushes\n.size pushes, .-pushes\n.set pop\n");
#endif

static NOINLINE void allocates(void)
{
    free(allocate(100));
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void caller(int count)
{
    pushes(count, allocates);
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    for (int i = 0; i < 20; i++)
        caller(i % 6);
    say("20 blocks\n");
    return 0;
}
