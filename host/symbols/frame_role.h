// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The role of a frame in the search for the code that requested memory.
#ifndef HEAPSONDE_HOST_SYMBOLS_FRAME_ROLE_H
#define HEAPSONDE_HOST_SYMBOLS_FRAME_ROLE_H

enum hs_frame_role {
    HS_ROLE_CODE,      // the program's or a library's own
    HS_ROLE_ALLOCATOR, // only passes allocations on: operator new, allocator classes, Rust's alloc crate, the recorder
    HS_ROLE_STANDARD,  // the standard library of C++ or Rust: of several such frames, only the outermost is useful
    HS_ROLE_START_UP   // the start of a process or thread: the same in every stack
};

enum hs_frame_role hs_frame_role(const char *function, const char *module);

#endif
