// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs a program for another machine in QEMU's user mode.
#ifndef HEAPSONDE_HOST_CLI_EMULATOR_H
#define HEAPSONDE_HOST_CLI_EMULATOR_H

#include "host/shims/shims.h"

struct hs_emulator {
    char *path;          // of QEMU
    char *library;       // the recording library of the program's ABI
    const char *sysroot; // the first given one that contains the program's loader; NULL: the loader is on this machine
};

// `sysroots`: NULL ends them. Returns 0, or a negative errno with the reason in `error`, which begins with `target`.
int hs_emulator__find(struct hs_emulator *emulator, const char *target, const struct hs_abi *abi,
                      const struct hs_probe *probe, const char *const *sysroots, struct hs_error *error);
void hs_emulator__free(struct hs_emulator *emulator);

// The command that starts the program; NULL ends it. Freed by hs_words__free. NULL: out of memory. Only with `records`
// is the library loaded.
char **hs_emulator__words(const struct hs_emulator *emulator, const char *path, char *const *arguments, bool records);

#endif
