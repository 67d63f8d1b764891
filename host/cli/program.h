// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Checks a program before it is run: does it exist, and can the loader load the recording library into it?
#ifndef HEAPSONDE_HOST_CLI_PROGRAM_H
#define HEAPSONDE_HOST_CLI_PROGRAM_H

#include "host/base/error.h"
#include "host/cli/emulator.h"

#include <stddef.h>

enum { HS_EXIT_CANNOT_RUN = 126, HS_EXIT_NOT_FOUND = 127 };

struct hs_program {
    char *path;        // what is executed
    char **arguments;  // its argv; NULL ends it
    char *name;        // for messages: what the user typed
    char *interpreter; // in `arguments`, if the interpreter of a script is run directly instead of through env
    char *script;
    char *recorded; // the recorded file: the program, or the program that a dynamic loader starts; NULL: not known
    // If the user named env, nice or the like (a wrapper): the other members describe the program that it starts.
    char *wrapper; // what is executed in place of `path`; NULL: none
    char *env;     // the program that sets variables for the program alone
    char **words;  // as the user gave them
    size_t wrapped;
    // For a program of another architecture: then `path` and `arguments` are those of QEMU.
    struct hs_emulator emulator;
    bool is_emulated;
    bool is_loaded;              // a dynamic loader that the user named starts it
    bool is_static;              // no loader takes the library in: it is put into the program's memory
    char **emulated_words;       // private
    const char *const *sysroots; // private
    bool is_followed;            // private
};

// Finds argv[0] as execvp does, and checks whether the recording library can be loaded into it, or, for a script, into
// its interpreter. If argv[0] is a wrapper or a dynamic loader, the program that it starts is checked. A program for
// another architecture is run by QEMU, with the library for its ABI; `sysroots` (NULL ends it) may contain copies of
// the root folder of its machine. `is_followed`: it is run under ptrace, so that no dynamic linker has to load the
// library, wherever the program stands. Returns 0, or an exit status as a shell would give it, with the reason in
// `error`.
int hs_program__prepare(struct hs_program *program, char **argv, const char *library, const char *const *sysroots,
                        bool is_followed, struct hs_error *error);
// The command that runs the program without recording it, in the emulator if it needs one. Freed by hs_words__free.
// NULL: out of memory.
char **hs_program__unrecorded_words(const struct hs_program *program, char **argv);
void hs_program__free(struct hs_program *program);

#endif
