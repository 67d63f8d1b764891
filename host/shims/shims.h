// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The libraries for targets, one set per ABI, and where to find them. An ABI is a processor, its byte order, its
// pointer size and how it passes floating-point numbers. One library works with glibc and with musl.
#ifndef HEAPSONDE_HOST_SHIMS_SHIMS_H
#define HEAPSONDE_HOST_SHIMS_SHIMS_H

#include "host/base/error.h"
#include "host/symbols/elf_probe.h"

#include <stdbool.h>
#include <stddef.h>

struct hs_abi {
    const char *name; // "armhf": used in commands and as the name of the folder
    const char *what; // "ARM, hard-float"
    // Names that Debian, the kernel and compilers use for it, separated by one space.
    const char *other_names;
};

// All ABIs with libraries; an entry without a name ends the table.
extern const struct hs_abi hs_abis[];

// Finds an ABI by any of its names, or NULL.
const struct hs_abi *hs_abi__named(const char *name);

// The ABI of a program or library. NULL if it is not supported (another processor, i386, x32, MIPS n32) or damaged.
const struct hs_abi *hs_abi__of(const struct hs_probe *probe);

// The same for a file. 0, or a negative errno with the reason in `error`.
int hs_abi__of_file(const char *path, const struct hs_abi **abi, struct hs_error *error);

// The ABI of this command, or NULL.
const struct hs_abi *hs_abi__of_this_machine(void);

// ---- where they are ------------------------------------------------------------------------------------------------

enum hs_shim { HS_SHIM_TRACE, HS_SHIM_PROF, HS_SHIM_ATTACH };

// "libheapsonde-trace.so", "heapsonde-attach"
const char *hs_shim_name(enum hs_shim shim);

// Finds the library for an ABI and resolves symbolic links in its path. Files for another ABI are skipped. The order:
//   1. the file in HEAPSONDE_LIBRARY (recording library only)
//   2. ABI/ in the folder HEAPSONDE_SHIMS; if this is set, the search ends here
//   3. ../lib/heapsonde/ABI/, relative to this command: where it is installed
//   4. if this command is in a build folder: lib/heapsonde/ABI/, then lib/, of this build and of the build beside it
//      that is named after the ABI
//   5. the configured installation folder
// 0, or a negative errno with the reason in `error`.
int hs_shim__find(const struct hs_abi *abi, enum hs_shim shim, char *path, size_t size, struct hs_error *error);

#endif
