// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where CPython 3.8 to 3.15 keep what names a function that runs: offsets in bytes, by version. Source: the headers
// that each version installs.
//
// A run is what one call of the interpreter loop executes: one frame up to 3.10, since 3.11 several.
#ifndef HEAPSONDE_RUNTIME_PYTHON_LAYOUT_H
#define HEAPSONDE_RUNTIME_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The last frame of a run.
enum hs_python_run {
    HS_PYTHON_ONE_FRAME, // each is
    HS_PYTHON_ENTRY,     // has a byte that says so
    HS_PYTHON_BOUNDARY,  // is none, but lies on the stack of the interpreter loop
};

// How a code object says which instruction is on which line: values of HS_META_CODE.
enum hs_python_lines { HS_PYTHON_LNOTAB = 1, HS_PYTHON_LINETABLE = 2, HS_PYTHON_LOCATIONS = 3 };

// 0 where a version has no such member, unless 0 is its offset.
struct hs_python_layout {
    uint8_t minor; // of version 3
    uint8_t run;   // enum hs_python_run
    uint8_t lines; // enum hs_python_lines
    uint8_t unit;  // bytes of a step of the frame's instruction
    // Thread state. The record is a struct on the stack of the interpreter loop.
    uint16_t state_frame, state_record;
    uint16_t record_frame, record_previous;
    // Frame.
    uint16_t frame_code, frame_previous, frame_instruction, frame_end, frame_owner;
    uint8_t frame_code_tag; // bits of the reference to the code object that are not of its address
    // Code object.
    uint16_t code_first_line, code_file, code_name, code_lines, code_bytes, code_first_traceable;
    // Text and bytes.
    uint16_t ascii_text, other_text, bytes_text;
    // Where the interpreter says, in words, state_frame, frame_instruction, code_lines and code_bytes.
    uint8_t said[4];
};

enum { HS_PYTHON_OF_GENERATOR = 1, HS_PYTHON_OF_STACK = 3 }; // owners of frames; from the latter on it is a boundary

// `find` tells the address of a symbol of the program. NULL: there is no Python, or one whose layout is not known.
const struct hs_python_layout *hs_python_layout__choose(void *(*find)(const char *name));

#endif
