// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a frame is to somebody who looks for the code that asked for memory.
#ifndef HEAPSONDE_HOST_SYMBOLS_FRAME_ROLE_H
#define HEAPSONDE_HOST_SYMBOLS_FRAME_ROLE_H

enum hs_frame_role {
    HS_ROLE_CODE,      // the program's or a library's own
    HS_ROLE_ALLOCATOR, // only hands allocations on: operator new, allocator classes, Rust's alloc crate, the recorder
    HS_ROLE_STANDARD,  // the standard library of C++ or Rust: of several such frames only the outermost tells something
    HS_ROLE_START_UP   // where a process or a thread begins: the same in every stack
};

enum hs_frame_role hs_frame_role(const char *function, const char *module);

#endif
