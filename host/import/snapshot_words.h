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
    unsigned registers; // how many there are
};

// Reads registers and the copy, which gets the target's byte order. *copy is to be freed. False: damaged, or no memory.
bool hs_snapshot_words__read(const struct hs_snapshot_form *form, const uint8_t *bytes, size_t length,
                             uint64_t *registers, uint8_t **copy, size_t *size);

#endif
