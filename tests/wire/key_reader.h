// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One of the two readers of key files, and the errors by which they differ.
#ifndef HEAPSONDE_TESTS_WIRE_KEY_READER_H
#define HEAPSONDE_TESTS_WIRE_KEY_READER_H

#include <stdint.h>

extern const int key_of_wrong_size, key_of_everybody;

// The key's length, or -errno; what is behind the key is zeroed.
long read_key(const char *path, uint8_t *key, uint32_t size);

#endif
