// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Unwinding stacks of another process, on any machine, after the fact: from registers and a copy of the stack, with the
// files of its modules. The rules are found as on the target (unwind/), which is compiled for this machine once for
// each architecture.
//
// Snapshots and files are anybody's bytes: a walk ends, and says why. A process has one session at
// a time: hs_offline__create waits until the session before is destroyed. A session is used by one thread.
#ifndef HEAPSONDE_HOST_UNWIND_OFFLINE_H
#define HEAPSONDE_HOST_UNWIND_OFFLINE_H

#include "host/unwind/code_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_OFFLINE_REGISTERS = 33, HS_OFFLINE_FRAMES = 1024 };

// Ends of walks beyond those of enum hs_end (unwind/walk.h).
enum {
    HS_OFFLINE_NO_FILE = 6,  // the file of the outermost frame's module is missing
    HS_OFFLINE_TOO_DEAR = 7, // what the session may look at was used up
};

struct hs_offline;

// NULL: no memory, or an architecture that is not known (*unknown).
struct hs_offline *hs_offline__create(uint16_t machine, uint8_t pointer_size, bool big_endian, bool *unknown);
void hs_offline__destroy(struct hs_offline *self);

// The number of registers, and which of them says where the code is.
unsigned hs_offline__registers(const struct hs_offline *self);
unsigned hs_offline__pc(const struct hs_offline *self);

// The file of a module; `debug`: of that with its debug information, or -1. Both are the session's. Returns a number,
// or -1: it cannot be used.
int hs_offline__add_file(struct hs_offline *self, int fd, int debug);

// `open` is called with the number of a module when its code is first met, and each time after that: it returns the
// number of its file, or -1.
void hs_offline__on_first_use(struct hs_offline *self, int (*open)(void *context, size_t module), void *context);

// Which modules are loaded now: those before are forgotten. The array is copied. Without memory for it, none is loaded.
void hs_offline__set_modules(struct hs_offline *self, const struct hs_offline_module *modules, size_t count);

struct hs_offline_snapshot {
    uint64_t registers[HS_OFFLINE_REGISTERS];
    const uint8_t *copy; // of the stack, from the stack pointer on
    size_t size;
};

struct hs_offline_stack {
    uint64_t pcs[HS_OFFLINE_FRAMES]; // innermost first; return addresses as docs/format.md has them
    bool guessed[HS_OFFLINE_FRAMES]; // who called the frame is a guess
    uint32_t depth;
    int end; // enum hs_end, or HS_OFFLINE_*
};

// Bytes of tables and code that the session has looked at so far. What it may look at is limited (HS_OFFLINE_TOO_DEAR).
uint64_t hs_offline__looked_at(const struct hs_offline *self);

// Walks the stack of a snapshot. All of *stack is set; at least the innermost frame is in it, and `end` says why the
// walk ended.
void hs_offline__walk(struct hs_offline *self, const struct hs_offline_snapshot *snapshot,
                      struct hs_offline_stack *stack);

#endif
