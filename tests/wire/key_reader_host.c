// SPDX-License-Identifier: MIT OR Apache-2.0
#include "key_reader.h"

#include "host/gather/shared_key.h"

#include <check.h>
#include <errno.h>
#include <string.h>

const int key_of_wrong_size = EINVAL, key_of_everybody = EPERM;

long read_key(const char *path, uint8_t *key, uint32_t size)
{
    struct hs_shared_key read;
    struct hs_error error = {0};
    int result = hs_shared_key__read(&read, path, &error);
    ck_assert(result <= 0);
    ck_assert((result == 0) == (error.message[0] == 0));
    ck_assert((result == 0) == (read.length > 0));
    ck_assert_uint_le(read.length, size);
    memset(key, 0, size);
    memcpy(key, read.bytes, read.length);
    return result ? result : (long)read.length;
}
