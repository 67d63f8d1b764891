// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A datagram that says it is an announcement, and the pairs of strings in it.
#include "format/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct hs_wire_text text, const uint8_t *from, const uint8_t *end)
{
    const uint8_t *data = (const uint8_t *)text.data;
    if (data < from || data > end || text.length > (size_t)(end - data))
        abort();
}

// What was read, written again, is what was there.
static void check_pairs(const uint8_t *from, const uint8_t *end)
{
    const uint8_t *at = from;
    struct hs_wire_text name, value;
    for (const uint8_t *before = at; hs_wire_pair__read(&at, end, &name, &value); before = at) {
        check_text(name, before, end);
        check_text(value, before, end);
        char *terminated = calloc(1, name.length + 1);
        uint8_t *written = malloc((size_t)(at - before)), *to = written;
        if (!terminated || !written)
            exit(1);
        memcpy(terminated, name.data, name.length);
        if (strlen(terminated) == name.length &&
            (!hs_wire_pair__write(&to, written + (at - before), terminated, value.data, value.length) ||
             to != written + (at - before) || memcmp(written, before, (size_t)(at - before))))
            abort();
        free(terminated);
        free(written);
    }
}

static void check(const uint8_t *data, size_t size, const uint8_t *key)
{
    uint8_t *datagram = malloc(size ? size : 1);
    if (!datagram)
        exit(1);
    memcpy(datagram, data, size);
    long length = hs_announce__open(datagram, size, key);
    if (length >= 0) {
        if (length < HS_ANNOUNCE_BODY_MIN || (size_t)length + HS_ANNOUNCE_HEADER_SIZE > size || size > HS_ANNOUNCE_MAX)
            abort();
        const uint8_t *body = datagram + HS_ANNOUNCE_HEADER_SIZE;
        check_pairs(body + HS_ANNOUNCE_BODY_MIN, body + length);
    }
    free(datagram);
}

// With a key that nobody has to forge: what is sealed here.
static void check_sealed(const uint8_t *body, size_t length, const uint8_t *key)
{
    static const uint8_t nonce[12] = "once";
    uint8_t datagram[HS_ANNOUNCE_MAX];
    if (length > HS_ANNOUNCE_MAX - HS_ANNOUNCE_HEADER_SIZE - HS_WIRE_TAG_SIZE)
        return;
    memcpy(datagram + HS_ANNOUNCE_HEADER_SIZE, body, length);
    size_t size = hs_announce__seal(datagram, length, key, nonce);
    long opened = hs_announce__open(datagram, size, key);
    if (opened != (length < HS_ANNOUNCE_BODY_MIN ? -1 : (long)length))
        abort();
    if (opened > 0 && memcmp(datagram + HS_ANNOUNCE_HEADER_SIZE, body, length))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t key[HS_WIRE_KEY_SIZE] = "the key of the fuzzer";
    check(data, size, NULL);
    check(data, size, key);
    check_sealed(data, size, key);
    check_pairs(data, data + size);
    return 0;
}
