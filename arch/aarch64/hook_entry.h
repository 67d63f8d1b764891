// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where code that was put before a function jumps to: x17 holds the address of what the function is, and all else but
// x15 and x16 is as its caller left it.
#ifndef HEAPSONDE_ARCH_AARCH64_HOOK_ENTRY_H
#define HEAPSONDE_ARCH_AARCH64_HOOK_ENTRY_H

#include <stdint.h>

// Made by the entry, on the stack.
struct hs_hook_call {
    uintptr_t arguments[6];
    const void *function; // x17
    uintptr_t x8;
    uintptr_t fp, pc; // of the caller, whose stack pointer is behind this
};

// `value` is returned to the caller; with `jumps` it is an address to go to, with the caller's arguments.
struct hs_hook_result {
    uintptr_t value, jumps;
};

// Defines `name`, which has `function` carry out a call: struct hs_hook_result function(struct hs_hook_call *).
#define HS_ARCH_HOOK_ENTRY(name, function)                                                                             \
    __asm__(".text\n"                                                                                                  \
            ".p2align 2\n"                                                                                             \
            ".globl " #name "\n"                                                                                       \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ", %function\n" #name ":\n"                                                                 \
            ".cfi_startproc\n"                                                                                         \
            "hint #34\n" /* bti c */                                                                                   \
            "stp x29, x30, [sp, #-16]!\n"                                                                              \
            ".cfi_def_cfa_offset 16\n"                                                                                 \
            ".cfi_offset x29, -16\n"                                                                                   \
            ".cfi_offset x30, -8\n"                                                                                    \
            "mov x29, sp\n"                                                                                            \
            ".cfi_def_cfa_register x29\n"                                                                              \
            "stp x17, x8, [sp, #-16]!\n"                                                                               \
            "stp x4, x5, [sp, #-16]!\n"                                                                                \
            "stp x2, x3, [sp, #-16]!\n"                                                                                \
            "stp x0, x1, [sp, #-16]!\n"                                                                                \
            "mov x0, sp\n"                                                                                             \
            "bl " #function "\n"                                                                                       \
            "cbnz x1, 1f\n"                                                                                            \
            "add sp, sp, #64\n"                                                                                        \
            "ldp x29, x30, [sp], #16\n"                                                                                \
            ".cfi_remember_state\n"                                                                                    \
            ".cfi_def_cfa sp, 0\n"                                                                                     \
            ".cfi_restore x29\n"                                                                                       \
            ".cfi_restore x30\n"                                                                                       \
            "ret\n"                                                                                                    \
            ".cfi_restore_state\n"                                                                                     \
            "1: mov x16, x0\n"                                                                                         \
            "ldp x0, x1, [sp], #16\n"                                                                                  \
            "ldp x2, x3, [sp], #16\n"                                                                                  \
            "ldp x4, x5, [sp], #16\n"                                                                                  \
            "ldp x17, x8, [sp], #16\n"                                                                                 \
            "ldp x29, x30, [sp], #16\n"                                                                                \
            ".cfi_def_cfa sp, 0\n"                                                                                     \
            ".cfi_restore x29\n"                                                                                       \
            ".cfi_restore x30\n"                                                                                       \
            "br x16\n"                                                                                                 \
            ".cfi_endproc\n"                                                                                           \
            ".size " #name ", . - " #name "\n")

#endif
