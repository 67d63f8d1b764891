// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What writers of dumps write to. There is one writer for each format.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_OUTPUT_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_OUTPUT_H

#include "runtime/prof/contexts.h"

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
enum {
    HS_DUMP_ADDRESS_TEXTS = 512,
    HS_DUMP_ADDRESS_ROOM = 20, // of " 0x" and 16 digits, in words
    HS_DUMP_TAIL_FRAMES = 256,
    HS_DUMP_SHORT_LIMIT = 32,
};

// The text (" 0x" and digits) of the few addresses that occur in most stacks. It is copied together with the bytes
// beside it, in units of one size.
struct hs_dump_address_text {
    uint64_t address; // 0: none
    uint32_t length;
    char before[HS_DUMP_ADDRESS_ROOM], text[HS_DUMP_ADDRESS_ROOM];
};

// The text of the outer frames of the stack that was written last. The next stack, by number, has most of them in
// common.
struct hs_dump_tail {
    uint32_t count;
    uintptr_t frames[HS_DUMP_TAIL_FRAMES]; // outermost first
    uint32_t lengths[HS_DUMP_TAIL_FRAMES +
                     1]; // length of the text of the outermost 0, 1, ... frames, which ends at HS_DUMP_TAIL_END
    char text[HS_DUMP_ADDRESS_ROOM * (HS_DUMP_TAIL_FRAMES + 1) + HS_DUMP_SHORT_LIMIT];
};
#define HS_DUMP_TAIL_END (HS_DUMP_ADDRESS_ROOM * (HS_DUMP_TAIL_FRAMES + 1))

// A buffered file. After an error, nothing more is written.
struct hs_dump_output {
    int fd;        // -1: only to the stream
    bool streamed; // also to the stream
    int error;     // errno value, 0
    uint32_t pid;  // of the writing process
    uint32_t used;
    uint64_t written;
    struct hs_dump_facts *facts; // other facts in a dump (runtime/prof/dump_facts.h)
    struct hs_dump_address_text texts[HS_DUMP_ADDRESS_TEXTS];
    struct hs_dump_tail tail;
    char buffer[65536 - 64];
};

// These append to the buffer, which is written when it is full: a text, bytes, a decimal number, and hexadecimal digits
// without "0x".
void hs_dump_output__text(struct hs_dump_output *output, const char *text);
void hs_dump_output__bytes(struct hs_dump_output *output, const void *bytes, uint64_t length);
void hs_dump_output__number(struct hs_dump_output *output, uint64_t number);
void hs_dump_output__hex(struct hs_dump_output *output, uint64_t number);
void hs_dump_output__address(struct hs_dump_output *output, uint64_t address); // " 0x" and the digits
// Writes the buffer to the file and the stream. On an error, `error` is set.
void hs_dump_output__flush(struct hs_dump_output *output);

// Writes the addresses of a stack's frames, innermost first, with hs_dump__address().
void hs_dump_output__stack(struct hs_dump_output *output, const uintptr_t *frames, uint32_t count);

// Writes a literal of less than HS_DUMP_SHORT_LIMIT bytes.
#define HS_DUMP_OUTPUT__LITERAL(output, literal) hs_dump_output__short(output, literal, sizeof literal - 1)
static inline void hs_dump_output__short(struct hs_dump_output *output, const char *text, uint32_t length)
{
    if (sizeof output->buffer - output->used < HS_DUMP_SHORT_LIMIT)
        hs_dump_output__flush(output);
    __builtin_memcpy(output->buffer + output->used, text, length);
    output->used += length;
}

// The address to write for frame `i` of a stack (0: innermost), such that jeprof, which subtracts 1 from all but the
// first, gets the address of the call.
uint64_t hs_dump__address(uintptr_t return_address, uint32_t i);

// Adds up the pairs of one stack, from index `first` on. Returns the index after them.
uint32_t hs_dump__sum_stack(const struct hs_profile_snapshot *snapshot, uint32_t first, struct hs_counts *live,
                            struct hs_counts *total);

// One function for each format (docs/malloc_conf.md). Errors are in output->error; the caller flushes.
void hs_dump_write__heap_v2(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__text(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__proto(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__symbolized(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__collapsed(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
#pragma GCC visibility pop

#endif
