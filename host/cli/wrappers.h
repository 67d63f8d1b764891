// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs that do nothing but start another one in a changed place: env, nice, timeout and the like. Their user means
// the program behind them.
#ifndef HEAPSONDE_HOST_CLI_WRAPPERS_H
#define HEAPSONDE_HOST_CLI_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

struct hs_wrapped {
    size_t program; // its place in the words; 0: the first word starts no other
    bool elsewhere; // the program is looked for in another PATH or folder
};

struct hs_wrapped hs_wrappers__look(char *const *words);

// A dynamic loader's words: the place of the program that it is to start; 0: none.
size_t hs_loader__program(char *const *words);
// Whether a file of this name may be one.
bool hs_loader__is_named(const char *path);

// What starts the same with some variables set for the program alone, by env at the path given. NULL without memory; to
// be freed, its words are those given.
char **hs_wrappers__with_variables(char *const *words, size_t program, char *env, char *const *variables,
                                   char *const *program_words);

#endif
