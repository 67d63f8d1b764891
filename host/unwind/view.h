// SPDX-License-Identifier: MIT OR Apache-2.0
//
// unwind/ as it is compiled for each architecture that traces come from: what there is on the target, here over copies
// of stacks and images of files. Each view keeps caches of its own; it serves one session at a time, which offline.c
// sees to.
#ifndef HEAPSONDE_HOST_UNWIND_VIEW_H
#define HEAPSONDE_HOST_UNWIND_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_code_map;

// Bytes of code and tables that a session may look at to find rules: for the first walk, and for each one more. A place
// in code is looked up once, so that only stacks that are made up need as much. It takes about 15 ns a byte.
#define HS_OFFLINE_WORK_FIRST (UINT64_C(48) << 20)
#define HS_OFFLINE_WORK_EACH  (UINT64_C(1) << 14)

struct hs_view_walk {
    const uint64_t *registers; // by DWARF number, hs_view.registers of them
    const uint8_t *copy;       // of the stack, from the stack pointer on
    size_t size;
    uint64_t *pcs; // innermost first
    bool *guessed; // whether the step from there was a guess
    uint32_t capacity, depth;
    int end;       // enum hs_end
    bool given_up; // something was not looked up any more
};

struct hs_view {
    unsigned registers, pc;
    void (*walk)(const struct hs_code_map *code, struct hs_view_walk *walk);
    void (*forget)(void);        // the session ends
    uint64_t (*looked_at)(void); // bytes so far
};

extern const struct hs_view hs_view_amd64, hs_view_aarch64, hs_view_arm, hs_view_mips64, hs_view_mips64el;

#endif
