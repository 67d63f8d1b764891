// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the symbol tests look at: programs compiled and changed on the spot, and what is said about their addresses.
#ifndef HEAPSONDE_TESTS_SYMBOLS_SUBJECT_H
#define HEAPSONDE_TESTS_SYMBOLS_SUBJECT_H

#include "host/symbols/symbols.h"
#include "tests/cli/command.h"

#include <stdio.h>

bool have(const char *tool);

// The addresses of all instructions of .text, and the address of a symbol. `tools` is what the names of the binutils
// for the file's machine begin with.
size_t instructions(const char *tools, const char *path, uint64_t *addresses, size_t most);
uint64_t symbol(const char *path, const char *name);

// A session about one file, as a trace would describe it. `described` is where the build id is read.
struct session {
    struct hs_symbols *symbols;
    uint8_t build_id[64];
    uint16_t described_machine; // of the file
    int module;
};
void open_session(struct session *session, const struct hs_symbols_options *options, const char *described,
                  const char *path, uint64_t bias);
void close_session(struct session *session);

// "function|file:line\n" for each frame of the call at `address`, innermost first; files without their folders.
const char *frames_at(struct session *session, uint64_t address);

#endif
