// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads the key that devices and hosts share from its file (docs/protocol.md, 2.2).
#ifndef HEAPSONDE_HOST_GATHER_SHARED_KEY_H
#define HEAPSONDE_HOST_GATHER_SHARED_KEY_H

#include "format/wire.h"
#include "host/base/error.h"

struct hs_shared_key {
    size_t length; // 0: no key, no encryption
    char bytes[HS_WIRE_SHARED_KEY_MAX];
    uint8_t announcements[HS_WIRE_KEY_SIZE]; // the key for announcements
};

// 0, or a negative errno with the reason in `error`: the file is missing, not a regular file, owned by another user,
// readable by others, too short or too long.
int hs_shared_key__read(struct hs_shared_key *key, const char *path, struct hs_error *error);
void hs_shared_key__forget(struct hs_shared_key *key);

static inline uint8_t hs_shared_key__security(const struct hs_shared_key *key)
{
    return key->length ? HS_WIRE_SHARED_KEY : HS_WIRE_OPEN;
}

#endif
