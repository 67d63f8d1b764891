// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Calls on another stack that keep in memory where their own one is, with the instructions of Go's runtime.asmcgocall,
// in code without any tables: from a goroutine's stack, and from the system's, where frames are told in another way.
// The stacks are one above and one below the caller's.
#include <heapsonde/unwind.h>

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { MAX = 64, STACK_SIZE = 1 << 16 };

typedef void function(void);

struct goroutine {
    char *low, *high;
};

void on_other_stack(function *called, void *top, struct goroutine *own);
void on_system_stack(function *called, void *top);

#define BEGIN(name) ".globl " #name "\n.type " #name ", %function\n" #name ":\n"
#define END(name)   ".size " #name ", .-" #name "\n"

#if defined(__aarch64__)
__asm__(".text\n.p2align 2\n" BEGIN(other_stack_nothing) "ret\n" END(other_stack_nothing) BEGIN(
    on_other_stack) "str x30, [sp, #-16]!\nstur x29, [sp, #-8]\nstr x28, [sp, #8]\nmov x9, sp\nmov x4, x2\nmov sp, x1\n"
                    "sub sp, sp, #16\nstr x4, [sp]\nldr x4, [x4, #8]\nsub x4, x4, x9\nstr x4, [sp, #8]\nblr x0\n"
                    "mov x9, x0\nldr x28, [sp]\nbl other_stack_nothing\nldr x5, [x28, #8]\nldr x6, [sp, #8]\nsub x5, "
                    "x5, x6\n"
                    "mov x0, x9\nmov sp, x5\nldr x28, [sp, #8]\nldur x29, [sp, #-8]\nldr x30, [sp], #16\nret\n" END(
                        on_other_stack)
                        BEGIN(on_system_stack_inner) "str x30, [sp, #-16]!\nstur x29, [sp, #-8]\nmov x2, sp\nmov sp, "
                                                     "x1\nsub sp, sp, #16\nstr xzr, [sp]\n"
                                                     "str x2, [sp, #8]\nblr x0\nldr x2, [sp, #8]\nmov sp, x2\nstr x0, "
                                                     "[sp, #40]\nldur x29, [sp, #-8]\n"
                                                     "ldr x30, [sp], #16\nret\n" END(on_system_stack_inner) BEGIN(
                                                         on_system_stack) "stp x29, x30, [sp, #-80]!\nmov x29, sp\nbl "
                                                                          "on_system_stack_inner\nldp x29, x30, [sp], "
                                                                          "#80\nret\n" END(on_system_stack));
#define KINDS 2
#elif defined(__arm__)
__asm__(".text\n.arm\n.p2align 2\n" BEGIN(other_stack_set) "mov r10, r0\nbx lr\n" END(other_stack_set) BEGIN(
    on_other_stack) "str lr, [sp, #-4]!\nstmdb sp, {r4, r5, r10}\nmov r3, sp\nmov r4, r2\nmov sp, r1\nsub sp, sp, #24\n"
                    "bic sp, sp, #7\nstr r4, [sp, #20]\nldr r4, [r4, #4]\nsub r4, r4, r3\nstr r4, [sp, #16]\nblx r0\n"
                    "mov r5, r0\nldr r0, [sp, #20]\nbl other_stack_set\nldr r1, [r10, #4]\nldr r2, [sp, #16]\nsub r1, "
                    "r1, r2\n"
                    "mov r0, r5\nmov sp, r1\nldmdb sp, {r4, r5, r10}\nldr lr, [sp], #4\nbx lr\n" END(on_other_stack)
                        BEGIN(on_system_stack_inner) "str lr, [sp, #-4]!\nmov r2, sp\nmov sp, r1\nsub sp, sp, #24\nbic "
                                                     "sp, sp, #7\nmov r3, #0\nstr r3, [sp, #20]\n"
                                                     "str r2, [sp, #16]\nblx r0\nldr r2, [sp, #16]\nmov sp, r2\nstr "
                                                     "r0, [sp, #16]\nldr lr, [sp], #4\nbx lr\n" END(
                                                         on_system_stack_inner)
                                                         BEGIN(on_system_stack) "str lr, [sp, #-32]!\nbl "
                                                                                "on_system_stack_inner\nldr lr, [sp], "
                                                                                "#32\nbx lr\n" END(on_system_stack));
#define KINDS 2
#elif defined(__mips64)
__asm__(".text\n.set push\n.set noreorder\n.option pic0\n.p2align 3\n.globl other_stack_nothing\n.type "
        "other_stack_nothing, @function\n"
        ".ent other_stack_nothing\nother_stack_nothing:\njr $31\nnop\n.end other_stack_nothing\n"
        ".globl on_other_stack\n.type on_other_stack, @function\n.ent on_other_stack\non_other_stack:\n"
        "daddiu $sp, $sp, -8\nsd $31, 0($sp)\nsd $30, -8($sp)\nor $3, $0, $sp\nor $2, $0, $6\nor $sp, $0, $5\n"
        "daddiu $sp, $sp, -16\nsd $2, 0($sp)\nld $2, 8($2)\ndsubu $2, $2, $3\nsd $2, 8($sp)\nor $25, $0, $4\n"
        "jalr $25\nnop\nld $30, 0($sp)\njal other_stack_nothing\nnop\nld $5, 8($30)\nld $6, 8($sp)\n"
        "dsubu $5, $5, $6\nor $29, $0, $5\nld $30, -8($sp)\nld $31, 0($sp)\njr $31\ndaddiu $sp, $sp, 8\n"
        ".end on_other_stack\n.size on_other_stack, .-on_other_stack\n.option pic2\n.set pop\n");
#define KINDS 1
#endif

static void *found[MAX], *expected[2];
static int found_count;
static struct hs_backtrace_info info;
static struct goroutine own;

#define NOTE_RETURN_ADDRESS(place) ((place) = __builtin_extract_return_addr(__builtin_return_address(0)))
#define BARRIER()                  __asm__ volatile("" ::: "memory")

static __attribute__((noinline)) void innermost(void)
{
    NOTE_RETURN_ADDRESS(expected[0]);
    found_count = hs_backtrace_reason(found, MAX, &info);
    BARRIER();
}

static __attribute__((noinline)) void call_on(int kind, void *top)
{
    NOTE_RETURN_ADDRESS(expected[1]);
#if KINDS > 1
    if (kind) {
        on_system_stack(innermost, top);
        BARRIER();
        return;
    }
#endif
    (void)kind;
    on_other_stack(innermost, top, &own);
    BARRIER();
}

static int is_right(void)
{
    int right = 0;
    for (int at = 0; at < found_count && right < 2; at++)
        right += found[at] == expected[right];
    int fine = right == 2 && info.end == HS_BACKTRACE_COMPLETE && !info.guessed;
    printf("%d of 2 frames, %d in all, end %d, guessed %d%s\n", right, found_count, info.end, info.guessed,
           fine ? "" : ": wrong");
    return fine;
}

static void *own_stack;
static int good = 1;

// On a stack in the middle of three.
static void on_own_stack(void)
{
    char *memory = own_stack;
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 4; round++) { // each way from what is not cached and from what is
            call_on(kind, memory + (round % 2 ? 3 : 1) * STACK_SIZE - 64);
            good &= is_right();
        }
}

int main(void)
{
    char *memory = mmap(NULL, 3 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct goroutine first = {NULL, __builtin_frame_address(0)};
    own_stack = memory;
    own = (struct goroutine){memory + STACK_SIZE, memory + 2 * STACK_SIZE};
    on_other_stack(on_own_stack, own.high - 64, &first);
    return !good;
}
