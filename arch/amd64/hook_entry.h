// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where code that was put before a function jumps to: %r11 holds the address of what the function is, and all else is
// as its caller left it.
#ifndef HEAPSONDE_ARCH_AMD64_HOOK_ENTRY_H
#define HEAPSONDE_ARCH_AMD64_HOOK_ENTRY_H

#include <stdint.h>

// Made by the entry, on the stack.
struct hs_hook_call {
    uintptr_t arguments[6];
    const void *function; // %r11
    uintptr_t unused;
    uintptr_t fp, pc; // of the caller, whose stack pointer is behind this
};

// `value` is returned to the caller; with `jumps` it is an address to go to, with the caller's arguments.
struct hs_hook_result {
    uintptr_t value, jumps;
};

// Defines `name`, which has `function` carry out a call: struct hs_hook_result function(struct hs_hook_call *).
#define HS_ARCH_HOOK_ENTRY(name, function)                                                                             \
    __asm__(".text\n"                                                                                                  \
            ".globl " #name "\n"                                                                                       \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ", @function\n" #name ":\n"                                                                 \
            ".cfi_startproc\n"                                                                                         \
            "endbr64\n"                                                                                                \
            "pushq %rbp\n"                                                                                             \
            ".cfi_def_cfa_offset 16\n"                                                                                 \
            ".cfi_offset rbp, -16\n"                                                                                   \
            "movq %rsp, %rbp\n"                                                                                        \
            ".cfi_def_cfa_register rbp\n"                                                                              \
            "pushq %r11\n"                                                                                             \
            "pushq %r11\n"                                                                                             \
            "pushq %r9\n"                                                                                              \
            "pushq %r8\n"                                                                                              \
            "pushq %rcx\n"                                                                                             \
            "pushq %rdx\n"                                                                                             \
            "pushq %rsi\n"                                                                                             \
            "pushq %rdi\n"                                                                                             \
            "movq %rsp, %rdi\n"                                                                                        \
            "call " #function "\n"                                                                                     \
            "testq %rdx, %rdx\n"                                                                                       \
            "jnz 1f\n"                                                                                                 \
            "leave\n"                                                                                                  \
            ".cfi_remember_state\n"                                                                                    \
            ".cfi_def_cfa rsp, 8\n"                                                                                    \
            ".cfi_restore rbp\n"                                                                                       \
            "ret\n"                                                                                                    \
            ".cfi_restore_state\n"                                                                                     \
            "1: movq %rax, %r11\n"                                                                                     \
            "popq %rdi\n"                                                                                              \
            "popq %rsi\n"                                                                                              \
            "popq %rdx\n"                                                                                              \
            "popq %rcx\n"                                                                                              \
            "popq %r8\n"                                                                                               \
            "popq %r9\n"                                                                                               \
            "leave\n"                                                                                                  \
            ".cfi_def_cfa rsp, 8\n"                                                                                    \
            ".cfi_restore rbp\n"                                                                                       \
            "jmp *%r11\n"                                                                                              \
            ".cfi_endproc\n"                                                                                           \
            ".size " #name ", . - " #name "\n")

#endif
