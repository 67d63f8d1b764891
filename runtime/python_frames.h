// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The frames of Python's functions, and what a thread remembers of them.
#ifndef HEAPSONDE_RUNTIME_PYTHON_FRAMES_H
#define HEAPSONDE_RUNTIME_PYTHON_FRAMES_H

#include "arch/likely.h"
#include "runtime/python_code.h"
#include "runtime/stacks.h"
#include "unwind/stack_memory.h"

enum {
    HS_PYTHON_PAGES = 64,
    HS_PYTHON_KNOWN = 1024,
    HS_PYTHON_CODES = 256,
    HS_PYTHON_OF_CODE = 256,
    HS_PYTHON_OF_FRAME = 128
};

// What a thread has for stacks of machine code.
struct hs_python_caller {
    const struct hs_registers *registers;
    struct hs_memo *memo;
    uint32_t tid;
};

// A frame as it was when the thread allocated last. `hash` is that of all frames up to it.
struct hs_python_frame {
    uintptr_t frame, code, previous, progress;
    uint64_t hash;
};

// A stack that was found: of machine code, with functions and instructions of which `functions` is a hash.
struct hs_python_known {
    uint64_t functions;
    uint32_t stack, result; // 0: free
};

// Owned by one thread.
struct hs_python_thread {
    uintptr_t pages[HS_PYTHON_PAGES]; // numbers of pages that can be read
    struct hs_python_known known[HS_PYTHON_KNOWN];
    struct hs_python_code codes[HS_PYTHON_CODES]; // code 0: free
    struct hs_memo merged;                        // the stack with functions; of its arrays only pcs and ids
    uint32_t count;
    struct hs_python_frame *frames; // of the last stack, the outermost first; twice the capacity
};

struct hs_python_state {
    const struct hs_python_layout *layout; // NULL: no Python
    void *(*state)(void);                  // the thread state of the calling thread, or NULL
    void *(*current)(void);                // that of the thread that has the interpreter's lock, or NULL
    int (*is_ending)(void);
    uintptr_t loop, loop_end; // the interpreter loop's code, if frames do not say where theirs is
    uint64_t code;            // the first bytes of `state`
    _Atomic uint32_t held;    // not 0: Python is not asked
};
extern struct hs_python_state hs_python;

// What runs, from the innermost frame on. The record is that of its run.
struct hs_python_place {
    uintptr_t frame, record;
};

static inline bool hs_python_page_readable(struct hs_python_thread *self, uintptr_t address)
{
    uintptr_t number = address / HS_STACK_PAGE, *known = &self->pages[number % HS_PYTHON_PAGES];
    if (HS_LIKELY(*known == number && number))
        return true;
    if (!hs_memory_readable(address, 1))
        return false;
    *known = number;
    return true;
}

static inline bool hs_python_readable(struct hs_python_thread *self, uintptr_t address, size_t length)
{
    return address % sizeof(void *) == 0 && hs_python_page_readable(self, address) &&
           hs_python_page_readable(self, address + length - 1);
}

static inline bool hs_python_is_boundary(uintptr_t frame)
{
    return hs_python.layout->run == HS_PYTHON_BOUNDARY &&
           hs_python_byte(frame + hs_python.layout->frame_owner) >= HS_PYTHON_OF_STACK;
}

static inline uintptr_t hs_python_instruction(const struct hs_python_layout *layout, uintptr_t frame,
                                              enum hs_python_run run)
{
    uintptr_t at = frame + layout->frame_instruction;
    return run == HS_PYTHON_ONE_FRAME ? hs_python_number(at) : hs_python_word(at);
}

// The code object of a frame that is no boundary. False: it cannot be read.
bool hs_python__read_code(struct hs_python_thread *self, uintptr_t frame, struct hs_python_code *code);

#endif
