// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Wrappers: programs that only start another program, such as env, nice and timeout. The user wants to record the other
// program.
#ifndef HEAPSONDE_HOST_CLI_WRAPPERS_H
#define HEAPSONDE_HOST_CLI_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

struct hs_wrapped {
    size_t program; // its index in the words; 0: the first word is not a wrapper
    bool elsewhere; // the wrapper searches the program in another PATH or folder
};

struct hs_wrapped hs_wrappers__look(char *const *words);

// In the words of a dynamic loader: the index of the program that it starts; 0: none.
size_t hs_loader__program(char *const *words);
// Whether a file of this name may be a dynamic loader.
bool hs_loader__is_named(const char *path);

// The same command, in which `env` (a path) sets variables for the program only. The caller frees the array but not the
// words. NULL: out of memory.
char **hs_wrappers__with_variables(char *const *words, size_t program, char *env, char *const *variables,
                                   char *const *program_words);

#endif
