// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/wire_cipher.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>

// Lets libsodium choose what suits the processor. Where it fails, what is slow but works everywhere stays chosen.
static void choose(void)
{
    (void)!sodium_init();
}

static void prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
}

void hs_wire_cipher__seal(const struct hs_wire_sealed *sealed)
{
    prepare();
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(sealed->data, sealed->data + sealed->length, NULL, sealed->data,
                                                       sealed->length, sealed->header, sealed->header_length, NULL,
                                                       sealed->nonce, sealed->key);
}

bool hs_wire_cipher__open(const struct hs_wire_sealed *sealed)
{
    prepare();
    if (crypto_aead_chacha20poly1305_ietf_decrypt_detached(sealed->data, NULL, sealed->data, sealed->length,
                                                           sealed->data + sealed->length, sealed->header,
                                                           sealed->header_length, sealed->nonce, sealed->key) == 0)
        return true;
    sodium_memzero(sealed->data, sealed->length);
    return false;
}
