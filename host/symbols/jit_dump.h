// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Jitdump, the file `jit-PID.dump` that runtimes write for perf: a header and records, in the byte order of the
// process. The file is hostile: every length is checked.
#ifndef HEAPSONDE_HOST_SYMBOLS_JIT_DUMP_H
#define HEAPSONDE_HOST_SYMBOLS_JIT_DUMP_H

#include "host/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_jit_record_kind {
    HS_JIT_LOAD = 0,       // u32 pid, tid; u64 vma, address, size, index; name, NUL, code
    HS_JIT_MOVE = 1,       // u32 pid, tid; u64 vma, old address, address, size, index
    HS_JIT_DEBUG_INFO = 2, // u64 address, count; for each: u64 address, u32 line, discriminator, name of the file, NUL
    HS_JIT_CLOSE = 3
};

enum {
    HS_JIT_LOAD_NAME = 40,   // offset of the name in a LOAD record's body
    HS_JIT_MOVE_LENGTH = 48, // of a MOVE record's body
    HS_JIT_LINES = 16        // offset of the first entry in a DEBUG_INFO record's body
};

struct hs_jit_dump {
    const uint8_t *at, *end;
    bool is_swapped; // its byte order is not that of this machine
    bool has_times;  // its times are CLOCK_MONOTONIC
};

struct hs_jit_record {
    uint32_t kind;
    uint64_t time;
    const uint8_t *body;
    size_t length; // of the body
};

// Whether the bytes begin as such a file does.
bool hs_jit_dump__is(const void *bytes, size_t length);

// 0, or -EBADMSG: no such file.
int hs_jit_dump__start(struct hs_jit_dump *dump, const void *bytes, size_t length);
// 1: a record was read; 0: there is none any more; -EBADMSG: the rest is damaged or missing.
int hs_jit_dump__next(struct hs_jit_dump *dump, struct hs_jit_record *record);

uint32_t hs_jit_dump__word(const struct hs_jit_dump *dump, const uint8_t *at);
uint64_t hs_jit_dump__long(const struct hs_jit_dump *dump, const uint8_t *at);

// Reads the file behind `fd` from its beginning, and appends it to `to` without machine code and without records that
// have nothing to do with names, at most `most` bytes. Returns 0; -EFBIG: what is beyond was left out, or there are too
// many of the latter; -EBADMSG: the file is none, or is damaged: what was before is there; or another negative errno.
// After the first two, readers of what was appended find damage at its end.
int hs_jit_dump__condense(int fd, struct hs_buffer *to, size_t most);

#endif
