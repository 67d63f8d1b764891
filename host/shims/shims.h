// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The libraries for targets, one set for each ABI, and where they are. One library serves glibc and musl: an ABI is a
// processor, its byte order, its pointers and how it passes floating-point numbers.
#ifndef HEAPSONDE_HOST_SHIMS_SHIMS_H
#define HEAPSONDE_HOST_SHIMS_SHIMS_H

#include "host/store/error.h"
#include "host/symbols/elf_probe.h"

#include <stdbool.h>
#include <stddef.h>

struct hs_abi {
    const char *name; // "armhf": in commands, and the folder of its libraries
    const char *what; // "ARM, hard-float"
    // What else it is called: by Debian, by the kernel, by compilers. One space between.
    const char *other_names;
};

// All that there are libraries for; one without a name ends it.
extern const struct hs_abi hs_abis[];

// By any of its names, or NULL.
const struct hs_abi *hs_abi__named(const char *name);

// Of a program or a library, or NULL when there is none for it (another processor, i386, x32, MIPS n32, damage).
const struct hs_abi *hs_abi__of(const struct hs_probe *probe);

// The same of a file. 0, or a negative errno with the reason in `error`.
int hs_abi__of_file(const char *path, const struct hs_abi **abi, struct hs_error *error);

// Of this command, or NULL.
const struct hs_abi *hs_abi__of_this_machine(void);

// Whether a program is started by musl's loader.
bool hs_abi__is_musl(const struct hs_probe *probe);

// ---- where they are ------------------------------------------------------------------------------------------------

enum hs_shim { HS_SHIM_TRACE, HS_SHIM_PROF };

// "libheapsonde-trace.so"
const char *hs_shim_name(enum hs_shim shim);

// The library for an ABI, as a path without links. Looked for in this order; a file that is not for the ABI is passed
// over:
//   what HEAPSONDE_LIBRARY names (the recording library alone);
//   ABI/ in the folder that HEAPSONDE_SHIMS names, and nowhere else when it names one;
//   ../lib/heapsonde/ABI/ as seen from this command, the folder in which it was installed;
//   in a build folder, the same folder of this build and of the one beside it that has the ABI's name, then their lib/.
// 0, or a negative errno with the reason in `error`.
int hs_shim__find(const struct hs_abi *abi, enum hs_shim shim, char *path, size_t size, struct hs_error *error);

#endif
