// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/wire.h"
#include "format/wire_cipher.h"
#include "third_party/bearssl/bearssl_kdf.h"

enum { NONCE_SIZE = 12, FRAME_NUMBER_AT = 4, BODY_AT = HS_WIRE_LENGTH_SIZE };
enum { VERSION_AT = 8, SECURITY_AT = 10, RESERVED_AT = 11, NONCE_AT = 12 };

struct purpose {
    const char *text;
    size_t length;
};
#define PURPOSE(text)                                                                                                  \
    &(struct purpose)                                                                                                  \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

static void expand(const void *salt, size_t salt_length, const void *shared_key, size_t shared_key_length,
                   const struct purpose *purpose, uint8_t *to, size_t size)
{
    br_hkdf_context derivation;
    br_hkdf_init(&derivation, &br_sha256_vtable, salt, salt_length);
    br_hkdf_inject(&derivation, shared_key, shared_key_length);
    br_hkdf_flip(&derivation);
    br_hkdf_produce(&derivation, purpose->text, purpose->length, to, size);
    hs_wire__wipe(&derivation, sizeof derivation);
    hs_wire__wipe_stack();
}

void hs_wire__derive(struct hs_wire_direction *from_device, struct hs_wire_direction *from_host, const void *shared_key,
                     size_t shared_key_length, const uint8_t device_hello[HS_WIRE_HELLO_SIZE],
                     const uint8_t host_hello[HS_WIRE_HELLO_SIZE])
{
    uint8_t salt[2 * HS_WIRE_HELLO_SIZE], keys[2 * HS_WIRE_KEY_SIZE];
    __builtin_memcpy(salt, device_hello, HS_WIRE_HELLO_SIZE);
    __builtin_memcpy(salt + HS_WIRE_HELLO_SIZE, host_hello, HS_WIRE_HELLO_SIZE);
    expand(salt, sizeof salt, shared_key, shared_key_length, PURPOSE("heapsonde wire 1"), keys, sizeof keys);
    from_device->encrypted = from_host->encrypted = true;
    from_device->frames = from_host->frames = 0;
    __builtin_memcpy(from_device->key, keys, HS_WIRE_KEY_SIZE);
    __builtin_memcpy(from_host->key, keys + HS_WIRE_KEY_SIZE, HS_WIRE_KEY_SIZE);
    hs_wire__wipe(keys, sizeof keys);
}

// The body without its tag.
static struct hs_wire_sealed body_of(const struct hs_wire_direction *direction, uint8_t *frame, size_t length,
                                     uint8_t nonce[NONCE_SIZE])
{
    __builtin_memset(nonce, 0, FRAME_NUMBER_AT);
    hs_wire__put(nonce + FRAME_NUMBER_AT, direction->frames, 8);
    return (struct hs_wire_sealed){.key = direction->key,
                                   .nonce = nonce,
                                   .header = frame,
                                   .header_length = HS_WIRE_LENGTH_SIZE,
                                   .data = frame + BODY_AT,
                                   .length = length};
}

size_t hs_wire__seal(struct hs_wire_direction *direction, enum hs_wire_kind kind, uint8_t *frame, size_t length)
{
    size_t plain = HS_WIRE_KIND_SIZE + length, body = plain + (direction->encrypted ? HS_WIRE_TAG_SIZE : 0);
    hs_wire__put(frame, body, HS_WIRE_LENGTH_SIZE);
    hs_wire__put(frame + BODY_AT, kind, HS_WIRE_KIND_SIZE);
    if (direction->encrypted) {
        uint8_t nonce[NONCE_SIZE];
        struct hs_wire_sealed sealed = body_of(direction, frame, plain, nonce);
        hs_wire_cipher__seal(&sealed);
    }
    direction->frames++;
    return HS_WIRE_LENGTH_SIZE + body;
}

bool hs_wire__open(struct hs_wire_direction *direction, uint8_t *frame, size_t size, enum hs_wire_kind *kind,
                   size_t *payload_length)
{
    if (size < HS_WIRE_LENGTH_SIZE || size != hs_wire__frame_size(direction, frame))
        return false;
    size_t plain = size - HS_WIRE_LENGTH_SIZE - (direction->encrypted ? HS_WIRE_TAG_SIZE : 0);
    if (direction->encrypted) {
        uint8_t nonce[NONCE_SIZE];
        struct hs_wire_sealed sealed = body_of(direction, frame, plain, nonce);
        if (!hs_wire_cipher__open(&sealed))
            return false;
    }
    uint64_t kind_value = hs_wire__get(frame + BODY_AT, HS_WIRE_KIND_SIZE);
    if (kind_value > UINT8_MAX)
        return false;
    direction->frames++;
    *kind = (enum hs_wire_kind)kind_value;
    *payload_length = plain - HS_WIRE_KIND_SIZE;
    return true;
}

void hs_announce__derive(uint8_t key[HS_WIRE_KEY_SIZE], const void *shared_key, size_t shared_key_length)
{
    expand("", 0, shared_key, shared_key_length, PURPOSE("heapsonde announce 1"), key, HS_WIRE_KEY_SIZE);
}

static struct hs_wire_sealed announced(const uint8_t *key, uint8_t *datagram, size_t body_length)
{
    return (struct hs_wire_sealed){.key = key,
                                   .nonce = datagram + NONCE_AT,
                                   .header = datagram,
                                   .header_length = NONCE_AT,
                                   .data = datagram + HS_ANNOUNCE_HEADER_SIZE,
                                   .length = body_length};
}

static void write_announce_header(uint8_t *datagram, unsigned security)
{
    __builtin_memcpy(datagram, HS_ANNOUNCE_MAGIC, VERSION_AT);
    hs_wire__put(datagram + VERSION_AT, HS_WIRE_VERSION, 2);
    datagram[SECURITY_AT] = (uint8_t)security;
    datagram[RESERVED_AT] = 0;
}

size_t hs_announce__seal(uint8_t *datagram, size_t body_length, const uint8_t *key, const uint8_t nonce[NONCE_SIZE])
{
    write_announce_header(datagram, key ? HS_WIRE_SHARED_KEY : HS_WIRE_OPEN);
    if (!key) {
        __builtin_memset(datagram + NONCE_AT, 0, NONCE_SIZE);
        return HS_ANNOUNCE_HEADER_SIZE + body_length;
    }
    __builtin_memcpy(datagram + NONCE_AT, nonce, NONCE_SIZE);
    struct hs_wire_sealed sealed = announced(key, datagram, body_length);
    hs_wire_cipher__seal(&sealed);
    return HS_ANNOUNCE_HEADER_SIZE + body_length + HS_WIRE_TAG_SIZE;
}

long hs_announce__open(uint8_t *datagram, size_t size, const uint8_t *key)
{
    uint8_t expected[NONCE_AT];
    size_t around = HS_ANNOUNCE_HEADER_SIZE + (key ? HS_WIRE_TAG_SIZE : 0);
    write_announce_header(expected, key ? HS_WIRE_SHARED_KEY : HS_WIRE_OPEN);
    if (size > HS_ANNOUNCE_MAX || size < around + HS_ANNOUNCE_BODY_MIN ||
        __builtin_memcmp(datagram, expected, sizeof expected) != 0)
        return -1;
    struct hs_wire_sealed sealed = announced(key, datagram, size - around);
    return key && !hs_wire_cipher__open(&sealed) ? -1 : (long)(size - around);
}
