// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/shared_key.h"

#include "host/base/secret_file.h"

#include <errno.h>
#include <string.h>

int hs_shared_key__read(struct hs_shared_key *key, const char *path, struct hs_error *error)
{
    // Room to see that white space at the end is all that is too much.
    char bytes[HS_WIRE_SHARED_KEY_MAX + 64];
    key->length = 0;
    ssize_t length = hs_secret_file__read(path, "key", bytes, sizeof(bytes), error);
    if (length == -ENOENT)
        return hs_error__set(error, ENOENT,
                             "the key %s cannot be read: no such file; '(umask 077; head -c 32 /dev/urandom | base64 "
                             "> FILE)' makes one",
                             path);
    if (length < 0)
        return (int)length;
    if (length < HS_WIRE_SHARED_KEY_MIN || length > HS_WIRE_SHARED_KEY_MAX) {
        explicit_bzero(bytes, sizeof(bytes));
        return hs_error__set(error, EINVAL,
                             "the key %s has to have %d to %d bytes; 'head -c 32 /dev/urandom | base64' "
                             "makes one",
                             path, HS_WIRE_SHARED_KEY_MIN, HS_WIRE_SHARED_KEY_MAX);
    }
    memcpy(key->bytes, bytes, (size_t)length);
    key->length = (size_t)length;
    hs_announce__derive(key->announcements, key->bytes, key->length);
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

void hs_shared_key__forget(struct hs_shared_key *key)
{
    explicit_bzero(key, sizeof(*key));
}
