// SPDX-License-Identifier: MIT OR Apache-2.0
//
// libgcc's atomics look here whether the processor has the instructions of ARMv8.1. Its own start code for it would ask
// libc, which the shim does without; the instructions of ARMv8.0 serve everywhere.
#include <stdbool.h>

extern __attribute__((visibility("hidden"))) bool __aarch64_have_lse_atomics;
bool __aarch64_have_lse_atomics = false;
