// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/wire.h"

enum {
    VERSION_AT = 8,
    ROLE_AT = 10,
    SECURITY_AT = 11,
    RESERVED_AT = 12,
    RANDOM_AT = 16,
    PAIR_LENGTH_SIZE = 2,
    WIPED_STACK = 2048
};

void hs_wire_hello__write(const struct hs_wire_hello *hello, uint8_t bytes[HS_WIRE_HELLO_SIZE])
{
    __builtin_memcpy(bytes, HS_WIRE_MAGIC, VERSION_AT);
    hs_wire__put(bytes + VERSION_AT, HS_WIRE_VERSION, 2);
    bytes[ROLE_AT] = hello->role;
    bytes[SECURITY_AT] = hello->security;
    hs_wire__put(bytes + RESERVED_AT, 0, 4);
    __builtin_memcpy(bytes + RANDOM_AT, hello->random, HS_WIRE_RANDOM_SIZE);
}

bool hs_wire_hello__read(const uint8_t bytes[HS_WIRE_HELLO_SIZE], struct hs_wire_hello *hello)
{
    hello->role = bytes[ROLE_AT];
    hello->security = bytes[SECURITY_AT];
    __builtin_memcpy(hello->random, bytes + RANDOM_AT, HS_WIRE_RANDOM_SIZE);
    return __builtin_memcmp(bytes, HS_WIRE_MAGIC, VERSION_AT) == 0 &&
           hs_wire__get(bytes + VERSION_AT, 2) == HS_WIRE_VERSION && hs_wire__get(bytes + RESERVED_AT, 4) == 0 &&
           (hello->role == HS_WIRE_DEVICE || hello->role == HS_WIRE_HOST) &&
           (hello->security == HS_WIRE_OPEN || hello->security == HS_WIRE_SHARED_KEY);
}

size_t hs_wire__frame_size(const struct hs_wire_direction *direction, const uint8_t length[HS_WIRE_LENGTH_SIZE])
{
    size_t least = HS_WIRE_KIND_SIZE + (direction->encrypted ? HS_WIRE_TAG_SIZE : 0);
    uint64_t body = hs_wire__get(length, HS_WIRE_LENGTH_SIZE);
    return body < least || body > least + HS_WIRE_PAYLOAD_MAX ? 0 : HS_WIRE_LENGTH_SIZE + (size_t)body;
}

static void write_string(uint8_t **at, const void *data, size_t length)
{
    hs_wire__put(*at, length, PAIR_LENGTH_SIZE);
    __builtin_memcpy(*at + PAIR_LENGTH_SIZE, data, length);
    *at += PAIR_LENGTH_SIZE + length;
}

bool hs_wire_pair__write(uint8_t **at, const uint8_t *end, const char *key, const void *value, size_t length)
{
    size_t room = (size_t)(end - *at), key_length = 0;
    while (key[key_length])
        key_length++;
    if (key_length > UINT16_MAX || length > UINT16_MAX || room < 2 * PAIR_LENGTH_SIZE + key_length + length)
        return false;
    write_string(at, key, key_length);
    write_string(at, value, length);
    return true;
}

static bool read_string(const uint8_t **at, const uint8_t *end, struct hs_wire_text *text)
{
    size_t room = (size_t)(end - *at);
    if (room < PAIR_LENGTH_SIZE)
        return false;
    text->length = (size_t)hs_wire__get(*at, PAIR_LENGTH_SIZE);
    text->data = (const char *)*at + PAIR_LENGTH_SIZE;
    if (room - PAIR_LENGTH_SIZE < text->length)
        return false;
    *at += PAIR_LENGTH_SIZE + text->length;
    return true;
}

bool hs_wire_pair__read(const uint8_t **at, const uint8_t *end, struct hs_wire_text *key, struct hs_wire_text *value)
{
    return read_string(at, end, key) && read_string(at, end, value);
}

void hs_wire__wipe(void *memory, size_t length)
{
    __builtin_memset(memory, 0, length);
    __asm__ volatile("" : : "r"(memory) : "memory"); // the zeros are read, as far as the compiler knows
}

__attribute__((noinline)) void hs_wire__wipe_stack(void)
{
    uint8_t below[WIPED_STACK];
    hs_wire__wipe(below, sizeof below);
}
