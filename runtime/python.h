// SPDX-License-Identifier: MIT OR Apache-2.0
//
// CPython's functions in stacks, in the place of the interpreter loop that runs them (HEAPSONDE_PYTHON). They are read
// from the frames of the calling thread, which nobody else changes, with or without the interpreter's lock. Whatever is
// read is checked to be readable; a frame that is not as expected is left out, and so are those outside of it.
//
// The stack of machine code is found as without this. Each thread remembers which stack it became with which functions
// and instructions. If the same is met again, only the frames are read.
#ifndef HEAPSONDE_RUNTIME_PYTHON_H
#define HEAPSONDE_RUNTIME_PYTHON_H

#include "runtime/python_frames.h"

// Looks for a CPython among the modules that are loaded. `find` tells the address of a symbol. Only if HEAPSONDE_PYTHON
// is set; before the thread that calls this creates others, or under the loader's lock. If there is none, a libpython
// that the program loads later is found when it allocates for the first time; `find_in` looks in the module that begins
// at an address alone.
typedef void *hs_python_find_in(uintptr_t module, const char *name);
void hs_python__begin(void *(*find)(const char *name), hs_python_find_in *find_in);

// An address in the CPython that is asked, or may be from now on; 0: none.
uintptr_t hs_python__code(void);

// Before and after code is unloaded: Python is not asked in between, and never again if it was unloaded. A thread that
// asks already is not waited for: whoever calls this keeps hs_python__code() loaded.
void hs_python__hold(void);
void hs_python__release(void);

// The stack with Python's functions. `stack` is that of machine code, not 0.
uint32_t hs_python__stack(struct hs_python_thread **self, const struct hs_python_caller *caller, uint32_t stack);

// Drops what is remembered.
void hs_python__forget(struct hs_python_thread *self);
void hs_python__free(struct hs_python_thread *self);

// For the new trace of a forked child.
void hs_python__reset(void);

#endif
