// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_CLI_JIT_VARIABLES_H
#define HEAPSONDE_HOST_CLI_JIT_VARIABLES_H

// Sets the variables in the environment with which runtimes write names of the code that they make, and make code with
// frame pointers. What the variables contain already is kept. Returns 0 or -ENOMEM.
int hs_jit_variables__set(void);

#endif
