// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A switch to another stack that keeps the frame pointer, in code without any tables: from a stack below to one above
// and the other way round.
#include <heapsonde/unwind.h>

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { MAX = 64, STACK_SIZE = 1 << 16 };

typedef void function(void);
void on_stack(function *called, void *top);

#if defined(__x86_64__)
__asm__(".text\n.globl on_stack\n.type on_stack, @function\non_stack:\n"
        "push %rbp\nmov %rsp, %rbp\nmov %rsi, %rsp\ncall *%rdi\nleave\nret\n.size on_stack, .-on_stack\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl on_stack\n.type on_stack, %function\non_stack:\n"
        "stp x29, x30, [sp, #-16]!\nmov x29, sp\nmov sp, x1\nblr x0\nmov sp, x29\nldp x29, x30, [sp], #16\nret\n"
        ".size on_stack, .-on_stack\n");
#elif defined(__arm__)
__asm__(".text\n.arm\n.globl on_stack\n.type on_stack, %function\non_stack:\n"
        "push {r11, lr}\nmov r11, sp\nmov sp, r1\nmov lr, pc\nbx r0\nmov sp, r11\npop {r11, lr}\nbx lr\n"
        ".size on_stack, .-on_stack\n");
#elif defined(__mips64)
__asm__(".text\n.set push\n.set noreorder\n.globl on_stack\n.type on_stack, @function\n.ent on_stack\non_stack:\n"
        "daddiu $sp, $sp, -16\nsd $31, 8($sp)\nsd $30, 0($sp)\nmove $30, $sp\nmove $sp, $5\nmove $25, $4\njalr $25\n"
        "nop\nmove $sp, $30\nld $31, 8($sp)\nld $30, 0($sp)\njr $31\ndaddiu $sp, $sp, 16\n.end on_stack\n"
        ".size on_stack, .-on_stack\n.set pop\n");
#endif

static void *found[MAX], *expected[3];
static int found_count;
static struct hs_backtrace_info info;
static char *above, *below;

#define NOTE_RETURN_ADDRESS(place) ((place) = __builtin_extract_return_addr(__builtin_return_address(0)))
#define BARRIER()                  __asm__ volatile("" ::: "memory")

static __attribute__((noinline)) void innermost(void)
{
    NOTE_RETURN_ADDRESS(expected[0]);
    found_count = hs_backtrace_reason(found, MAX, &info);
    BARRIER();
}

static __attribute__((noinline)) void on_second(void)
{
    NOTE_RETURN_ADDRESS(expected[1]);
    on_stack(innermost, above);
    BARRIER();
}

static __attribute__((noinline)) void on_first(void)
{
    NOTE_RETURN_ADDRESS(expected[2]);
    on_stack(on_second, below);
    BARRIER();
}

int main(void)
{
    char *memory = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int good = 1;
    for (int i = 0; i < 4; i++) { // each way from what is not cached and from what is
        below = memory + (i % 2 ? 2 : 1) * STACK_SIZE - 64;
        above = memory + (i % 2 ? 1 : 2) * STACK_SIZE - 64;
        on_first();
        int right = 0;
        for (int at = 0; at < found_count && right < 3; at++)
            right += found[at] == expected[right];
        int fine = right == 3 && info.end == HS_BACKTRACE_COMPLETE && !info.guessed;
        printf("%d of 3 frames, %d in all, end %d, guessed %d%s\n", right, found_count, info.end, info.guessed,
               fine ? "" : ": wrong");
        good &= fine;
    }
    return !good;
}
