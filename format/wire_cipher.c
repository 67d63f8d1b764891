// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/wire_cipher.h"

#include "format/wire.h"
#include "third_party/bearssl/bearssl_block.h"

enum { OPEN, SEAL };

static void run(const struct hs_wire_sealed *sealed, uint8_t tag[HS_WIRE_TAG_SIZE], int direction)
{
    br_poly1305_ctmul_run(sealed->key, sealed->nonce, sealed->data, sealed->length, sealed->header,
                          sealed->header_length, tag, br_chacha20_ct_run, direction);
    hs_wire__wipe_stack();
}

void hs_wire_cipher__seal(const struct hs_wire_sealed *sealed)
{
    run(sealed, sealed->data + sealed->length, SEAL);
}

// Takes as long for every pair of tags.
static bool tags_are_equal(const uint8_t *left, const uint8_t *right)
{
    unsigned differences = 0;
    for (unsigned i = 0; i < HS_WIRE_TAG_SIZE; i++)
        differences |= left[i] ^ right[i];
    return differences == 0;
}

bool hs_wire_cipher__open(const struct hs_wire_sealed *sealed)
{
    uint8_t tag[HS_WIRE_TAG_SIZE];
    run(sealed, tag, OPEN);
    if (tags_are_equal(tag, sealed->data + sealed->length))
        return true;
    hs_wire__wipe(sealed->data, sealed->length);
    return false;
}
