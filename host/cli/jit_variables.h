// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_JIT_VARIABLES_H
#define HEAPSONDE_HOST_CLI_JIT_VARIABLES_H

// Sets the variables in the environment with which runtimes write names of the code that they make, and make code with
// frame pointers. What the variables contain already is kept. Returns 0 or -ENOMEM.
int hs_jit_variables__set(void);

// The same for a machine of this ABI: words of a shell there that set the variables as arguments of env. The caller
// frees the result. NULL: out of memory.
char *hs_jit_variables__for_shell(const char *abi);

#endif
