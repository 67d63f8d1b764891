// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A switch to another stack, from one below to one above and the other way round: one that keeps the frame pointer, in
// code without any tables, and one that keeps its caller's registers elsewhere, as its table says (wine's dispatcher).
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

// The frame pointer is at the third of three words: the return address, the stack pointer, the caller's frame pointer.
void on_told_stack(function *called, void *top, void *words);

#if defined(__x86_64__)
#define HAS_TOLD_STACK 1
__asm__(".text\n.globl on_told_stack\n.type on_told_stack, @function\non_told_stack:\n.cfi_startproc\n"
        "pop (%rdx)\nmov %rsp, 8(%rdx)\nmov %rbp, 16(%rdx)\nlea 16(%rdx), %rbp\nmov %rsi, %rsp\n"
        ".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 16, 2, 0x76, 0x70, 0x10, 6, 2, 0x76, 0\n"
        "call *%rdi\nmov -8(%rbp), %rsp\npush -16(%rbp)\nmov (%rbp), %rbp\nret\n.cfi_endproc\n"
        ".size on_told_stack, .-on_told_stack\n");
#elif defined(__aarch64__)
#define HAS_TOLD_STACK 1
__asm__(".text\n.globl on_told_stack\n.type on_told_stack, %function\non_told_stack:\n.cfi_startproc\n"
        "str x30, [x2]\nmov x9, sp\nstr x9, [x2, #8]\nstr x29, [x2, #16]\nadd x29, x2, #16\nmov sp, x1\n"
        ".cfi_escape 0x0f, 3, 0x8d, 0x78, 0x06, 0x10, 30, 2, 0x8d, 0x70, 0x10, 29, 2, 0x8d, 0\n"
        "blr x0\nldr x9, [x29, #-8]\nldr x30, [x29, #-16]\nldr x29, [x29]\nmov sp, x9\nret\n.cfi_endproc\n"
        ".size on_told_stack, .-on_told_stack\n");
#else
#define HAS_TOLD_STACK 0
#endif

static void *found[MAX], *expected[3];
static int found_count;
static struct hs_backtrace_info info;
static char *above, *below;
static int told;

#define NOTE_RETURN_ADDRESS(place) ((place) = __builtin_extract_return_addr(__builtin_return_address(0)))
#define BARRIER()                  __asm__ volatile("" ::: "memory")

static __attribute__((always_inline)) inline void call_on(function *called, void *top)
{
#if HAS_TOLD_STACK
    void *words[3];
    if (told) {
        on_told_stack(called, top, words);
        return;
    }
#endif
    on_stack(called, top);
}

static __attribute__((noinline)) void innermost(void)
{
    NOTE_RETURN_ADDRESS(expected[0]);
    found_count = hs_backtrace_reason(found, MAX, &info);
    BARRIER();
}

static __attribute__((noinline)) void on_second(void)
{
    NOTE_RETURN_ADDRESS(expected[1]);
    call_on(innermost, above);
    BARRIER();
}

static __attribute__((noinline)) void on_first(void)
{
    NOTE_RETURN_ADDRESS(expected[2]);
    call_on(on_second, below);
    BARRIER();
}

int main(void)
{
    char *memory = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int good = 1;
    for (int i = 0; i < (HAS_TOLD_STACK ? 8 : 4); i++) { // each way from what is not cached and from what is
        told = i / 4;
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
