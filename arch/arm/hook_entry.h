// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where code that was put before a function jumps to: ip holds the address of what the function is, and all else is as
// its caller left it.
#ifndef HEAPSONDE_ARCH_ARM_HOOK_ENTRY_H
#define HEAPSONDE_ARCH_ARM_HOOK_ENTRY_H

#include <stdint.h>

// Made by the entry, on the stack.
struct hs_hook_call {
    uintptr_t arguments[6]; // the last two are copies
    const void *function;   // ip
    uintptr_t unused;
    uintptr_t fp, pc; // of the caller, whose stack pointer is behind this
};

// `value` is returned to the caller; with `jumps` it is an address to go to, with the caller's arguments.
struct hs_hook_result {
    uintptr_t value, jumps;
};

// Defines `name`, which has `function` carry out a call: struct hs_hook_result function(struct hs_hook_call *). The
// result is in memory.
#define HS_ARCH_HOOK_ENTRY(name, function)                                                                             \
    __asm__(".text\n"                                                                                                  \
            ".syntax unified\n"                                                                                        \
            ".arm\n"                                                                                                   \
            ".p2align 2\n"                                                                                             \
            ".globl " #name "\n"                                                                                       \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ", %function\n" #name ":\n"                                                                 \
            ".fnstart\n"                                                                                               \
            ".cantunwind\n"                                                                                            \
            ".cfi_startproc\n"                                                                                         \
            "push {r11, lr}\n"                                                                                         \
            ".cfi_def_cfa_offset 8\n"                                                                                  \
            ".cfi_offset lr, -4\n"                                                                                     \
            "tst lr, #1\n"                                                                                             \
            "strne r7, [sp]\n"                                                                                         \
            "sub sp, sp, #16\n"                                                                                        \
            ".cfi_def_cfa_offset 24\n"                                                                                 \
            "str ip, [sp, #8]\n"                                                                                       \
            "ldr lr, [sp, #24]\n"                                                                                      \
            "str lr, [sp]\n"                                                                                           \
            "ldr lr, [sp, #28]\n"                                                                                      \
            "str lr, [sp, #4]\n"                                                                                       \
            "push {r0, r1, r2, r3}\n"                                                                                  \
            ".cfi_def_cfa_offset 40\n"                                                                                 \
            "mov r1, sp\n"                                                                                             \
            "sub sp, sp, #8\n"                                                                                         \
            ".cfi_def_cfa_offset 48\n"                                                                                 \
            "mov r0, sp\n"                                                                                             \
            "bl " #function "\n"                                                                                       \
            "pop {r0, r1}\n"                                                                                           \
            ".cfi_def_cfa_offset 40\n"                                                                                 \
            "ldr lr, [sp, #36]\n"                                                                                      \
            ".cfi_restore lr\n"                                                                                        \
            "cmp r1, #0\n"                                                                                             \
            "bne 1f\n"                                                                                                 \
            "add sp, sp, #40\n"                                                                                        \
            ".cfi_remember_state\n"                                                                                    \
            ".cfi_def_cfa_offset 0\n"                                                                                  \
            "bx lr\n"                                                                                                  \
            ".cfi_restore_state\n"                                                                                     \
            "1: mov ip, r0\n"                                                                                          \
            "pop {r0, r1, r2, r3}\n"                                                                                   \
            ".cfi_def_cfa_offset 24\n"                                                                                 \
            "add sp, sp, #24\n"                                                                                        \
            ".cfi_def_cfa_offset 0\n"                                                                                  \
            "bx ip\n"                                                                                                  \
            ".cfi_endproc\n"                                                                                           \
            ".fnend\n"                                                                                                 \
            ".size " #name ", . - " #name "\n")

#endif
