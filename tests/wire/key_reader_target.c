// SPDX-License-Identifier: MIT OR Apache-2.0
#include "key_reader.h"

#include "runtime/stream/key_file.h"

#include <errno.h>

const int key_of_wrong_size = EMSGSIZE, key_of_everybody = EACCES;

long read_key(const char *path, uint8_t *key, uint32_t size)
{
    return hs_key_file__read(path, key, size);
}
