// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Ends as Go programs do, and has their note.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__asm__(".pushsection .note.go.buildid, \"a\"\n.balign 4\n.4byte 4, 5, 4\n.ascii \"Go\\0\\0\"\n.ascii \"abcde\"\n"
        ".balign 4\n.popsection\n");

int main(void)
{
    void *volatile block = malloc(1000);
    (void)block;
    __asm__ volatile("" ::: "memory");
#if defined(__x86_64__)
    __asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(0));
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_exit_group, status __asm__("x0") = 0;
    __asm__ volatile("svc 0" ::"r"(number), "r"(status));
#elif defined(__arm__)
    __asm__ volatile("push {r7}\nmov r7, %0\nmov r0, #0\nsvc 0\npop {r7}" ::"i"(SYS_exit_group) : "r0", "memory");
#elif defined(__mips64)
    register long number __asm__("$2") = SYS_exit_group, status __asm__("$4") = 0;
    __asm__ volatile("syscall" ::"r"(number), "r"(status));
#endif
    return 1;
}
