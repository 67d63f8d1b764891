// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Instructions of 32-bit ARM, in both of their encodings: what is written into a target, and what is moved there.
// Addresses of jumps are pointers: bit 0 says that there is Thumb code.
#ifndef HEAPSONDE_HOST_INJECT_ARM_CODE_H
#define HEAPSONDE_HOST_INJECT_ARM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_ARM_IP = 12, HS_ARM_SP, HS_ARM_LR, HS_ARM_PC };

struct hs_arm_code {
    uint8_t *start;
    size_t length;
    uint64_t at; // address of `start`
    // When instructions are moved:
    bool may_call;
    uint64_t from;   // address of the instruction
    bool is_ip_free; // no earlier instruction has set it
    bool goes_on;    // behind it, the code goes on behind the instruction's old place
};

void hs_arm_code__put(struct hs_arm_code *code, uint32_t word);
void hs_arm_code__put_halves(struct hs_arm_code *code, uint32_t first, uint32_t second);

// Jumps change no register and no flag.
void hs_arm_code__jump(struct hs_arm_code *code, uint64_t to);
void hs_thumb_code__jump(struct hs_arm_code *code, uint64_t to);
// The forms of one kind alone. Near: 0 if it is out of reach, else its length.
size_t hs_arm_code__near_jump(struct hs_arm_code *code, uint64_t to);
size_t hs_thumb_code__near_jump(struct hs_arm_code *code, uint64_t to);

// Moves the instruction at `bytes`, of `length` bytes or less. NULL: *moved becomes its length; else why not.
const char *hs_arm_code__move(struct hs_arm_code *code, const uint8_t *bytes, size_t length, size_t *moved);
const char *hs_thumb_code__move(struct hs_arm_code *code, const uint8_t *bytes, size_t length, size_t *moved);

// Whether an instruction of the function, without its calls, leads to one of the bytes from its beginning to
// `consumed`. `size` 0: not known, it ends within `length`.
bool hs_arm_code__is_jumped_to(const uint8_t *bytes, size_t length, size_t size, size_t consumed);
bool hs_thumb_code__is_jumped_to(const uint8_t *bytes, size_t length, size_t size, size_t consumed);

#define HS_ARM_NOT_UNDERSTOOD "has an instruction that was not understood"

#endif
