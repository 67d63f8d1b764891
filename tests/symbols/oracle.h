// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What addr2line says about every instruction of a program, and whether a session says the same.
#ifndef HEAPSONDE_TESTS_SYMBOLS_ORACLE_H
#define HEAPSONDE_TESTS_SYMBOLS_ORACLE_H

#include "subject.h"

#define MOST_ADDRESSES 8192

struct oracle {
    char *answers[MOST_ADDRESSES]; // as frames_at gives them; NULL where addr2line does not know the line
    uint64_t addresses[MOST_ADDRESSES];
    size_t count;
};

// `tools` is what the names of the binutils begin with: "" or "arm-linux-gnueabihf-".
struct oracle *ask_oracle(const char *tools, const char *path);
void free_oracle(struct oracle *oracle);

// Fails at the first difference; most of the program has to be known, and some of it inlined.
void compare_all(struct session *session, const struct oracle *oracle, uint64_t bias);

// What is said of `path`, which `described` describes, must be what is said of `full`, the same program with everything
// in it.
void compare_files(const char *full, const char *path, const char *described, const struct hs_symbols_options *options);

#endif
