// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Machine code that LuaJIT makes has no tables and no frame pointers. It runs on the frame of the interpreter that it
// was entered from, below which it only has room for spilled registers. That frame keeps a pointer to the thread's
// state (lua_State), which says what it is and points back at the frame (its cframe). This is so in all versions with
// references of 64 bits (LJ_GC64, the default on 64-bit machines since 2.1). The return address is the last word of the
// interpreter's frame, after the caller's frame pointer.
#include "unwind/known_frame.h"

#include "arch/likely.h"
#include "unwind/call_site.h"

#include <stdatomic.h>

#if HS_KNOWN_FRAMES

enum {
    SPILLS_MAX = 1024 + 64, // bytes; 255 slots of 4 bytes, and what is for other calls
    FRAME_MIN = 80,         // with the return address: so it was in all versions until now
    FRAME_MAX = 128,
    NEAR = 16384,        // states are not on the stack
    STATE_TYPE = 0x0106, // of a lua_State with references of 64 bits: two bytes that say what it is,
    STATE_CFRAME = 10,   // and the word that points to the frame
    FAILURES_MAX = 256,  // in a row: this process does not run LuaJIT,
    RETRY = 4096,        // or not yet: after this many calls, it is looked for again
};

static _Atomic uintptr_t last_state; // where to look first: most calls are of one thread of Lua
static _Atomic uint32_t failures;

// The frame's own stack pointer: in the state that `word` may point to; its lowest bits are flags. 0: it does not.
static HS_COLD uintptr_t frame_of(uintptr_t word, uintptr_t sp, uintptr_t slot)
{
    const uintptr_t flags = 7;
    uintptr_t state[STATE_CFRAME + 1];
    if (word % sizeof word || word < HS_STACK_PAGE || word >> HS_ARCH_ADDRESS_BITS || word - sp + NEAR < 2 * NEAR ||
        !hs_memory_copy(word, state, sizeof state, true))
        return 0;
    uintptr_t frame = state[STATE_CFRAME] & ~flags;
    bool found = (state[1] >> 8 & 0xffff) == STATE_TYPE && frame >= sp && frame <= slot && slot - frame < FRAME_MAX;
    return found ? frame : 0;
}

// Saved registers are behind the pointer to the state, and the return address is behind those.
static HS_COLD bool find_caller(struct hs_stack_window *window, uintptr_t frame, uintptr_t slot,
                                struct hs_registers *caller)
{
    uintptr_t before = 0, word;
    for (slot += sizeof word; slot - frame < FRAME_MAX && hs_stack_window_read(window, slot, &word);
         slot += sizeof word, before = word) {
        uintptr_t pc = hs_arch_strip(word);
        if (!hs_call_site__at(pc, true))
            continue;
        *caller = (struct hs_registers){.pc = pc, .sp = slot + sizeof word, .fp = before};
        return true;
    }
    return false;
}

// The nearest frame in the `size` bytes from `sp`. `state`: only what points to this one is looked at; 0: everything.
static HS_COLD bool search(struct hs_stack_window *window, uintptr_t sp, uintptr_t size, uintptr_t state,
                           struct hs_registers *caller)
{
    uintptr_t word;
    for (uintptr_t slot = sp; slot - sp < size && hs_stack_window_read(window, slot, &word); slot += sizeof word) {
        uintptr_t frame = !state || word == state ? frame_of(word, sp, slot) : 0;
        if (!frame)
            continue;
        // One of another state, a coroutine's, may be between.
        if (state && frame - sp >= FRAME_MIN && search(window, sp, frame - sp, 0, caller))
            return true;
        if (find_caller(window, frame, slot, caller)) {
            atomic_store_explicit(&last_state, word, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

HS_COLD bool hs_luajit_frame__find(struct hs_stack_memory *memory, uintptr_t sp, struct hs_registers *caller)
{
    const uintptr_t size = SPILLS_MAX + FRAME_MAX;
    struct hs_stack_window window = {.own = memory};
    if (sp % sizeof sp)
        return false;
    uintptr_t state = atomic_load_explicit(&last_state, memory_order_relaxed);
    if (state && search(&window, sp, size, state, caller))
        return true;
    uint32_t failed = atomic_load_explicit(&failures, memory_order_relaxed);
    bool found = (failed < FAILURES_MAX || failed % RETRY == 0) && search(&window, sp, size, 0, caller);
    atomic_store_explicit(&failures, found ? 0 : failed + 1, memory_order_relaxed);
    return found;
}
#else
typedef int hs_luajit_frame__none; // a file has to contain something
#endif
