// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The words of a SNAPSHOT record (docs/format.md, 5.2).
#ifndef HEAPSONDE_IMPORT_SNAPSHOT_WORDS_H
#define HEAPSONDE_IMPORT_SNAPSHOT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_snapshot_form {
    unsigned pointer_size; // 4 or 8
    bool big_endian;
    unsigned registers; // number of registers
};

// Reads the registers and the copy of the stack, and converts the copy to the target's byte order. The caller frees
// *copy. False: damaged, or out of memory.
bool hs_snapshot_words__read(const struct hs_snapshot_form *form, const uint8_t *bytes, size_t length,
                             uint64_t *registers, uint8_t **copy, size_t *size);

#endif
