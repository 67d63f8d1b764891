// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Looking at a program before it is run: is it there, and will the loader take the recording library into it?
#ifndef HEAPSONDE_HOST_CLI_PROGRAM_H
#define HEAPSONDE_HOST_CLI_PROGRAM_H

#include "host/cli/emulator.h"
#include "host/store/error.h"

#include <stddef.h>

enum { HS_EXIT_CANNOT_RUN = 126, HS_EXIT_NOT_FOUND = 127 };

struct hs_program {
    char *path;        // what is executed
    char **arguments;  // argv for it, NULL ends it
    char *name;        // for messages: what the user typed
    char *interpreter; // what stands in `arguments` when the script's interpreter is run instead of env
    char *script;
    char *recorded; // the file that is recorded: the program's, or what a dynamic loader is to start; NULL: not known
    // Where the user named env, nice or the like: all else is of the program behind it.
    char *wrapper; // what is executed in place of `path`; NULL: none
    char *env;     // the program that sets variables for the program alone
    char **words;  // as the user gave them
    size_t wrapped;
    // Of a program for another machine: `path` is then QEMU's, `arguments` what that is given.
    struct hs_emulator emulator;
    bool is_emulated;
    char **emulated_words;       // private
    const char *const *sysroots; // as they were given; private
};

// Finds argv[0] as execvp does and checks it (of a script: its interpreter) against the recording library. Returns 0,
// or the exit status for the shell with `error` filled. Where argv[0] only starts another program, or loads it, that
// one is looked at. A program for another machine is recorded by QEMU and the library for its ABI; `sysroots`, which
// NULL ends, may be copies of its root folder.
int hs_program__prepare(struct hs_program *program, char **argv, const char *library, const char *const *sysroots,
                        struct hs_error *error);
// What runs a program that cannot be recorded: itself, or by the emulator. NULL without memory; freed by
// hs_words__free.
char **hs_program__unrecorded_words(const struct hs_program *program, char **argv);
void hs_program__free(struct hs_program *program);

#endif
