// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The cipher that format/wire_secure.c needs: ChaCha20-Poly1305 (RFC 8439), in place. format/wire_cipher.c works on
// every target; a host may be linked with host/wire/wire_cipher_sodium.c instead.
#ifndef HEAPSONDE_FORMAT_WIRE_CIPHER_H
#define HEAPSONDE_FORMAT_WIRE_CIPHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_wire_sealed {
    const uint8_t *key;   // 32 bytes
    const uint8_t *nonce; // 12 bytes
    const void *header;   // authenticated, not encrypted
    size_t header_length;
    uint8_t *data; // the tag's 16 bytes are after it
    size_t length; // without the tag
};

void hs_wire_cipher__seal(const struct hs_wire_sealed *sealed);
// False: it does not verify, and the data is zeroed.
bool hs_wire_cipher__open(const struct hs_wire_sealed *sealed);

#endif
