// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/strings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE  (64u << 10)
#define FIRST_SLOTS 1024u

struct strings_block {
    struct strings_block *next;
    size_t used;
    size_t size;
    _Alignas(16) char bytes[];
};

struct strings_slot {
    const char *text;
    uint64_t hash;
    size_t length;
};

struct hs_strings {
    struct strings_block *blocks;
    struct strings_slot *slots;
    size_t slot_count; // a power of two
    size_t count;
    size_t block_bytes;
};

struct hs_strings *hs_strings__create(void)
{
    struct hs_strings *strings = calloc(1, sizeof(*strings));
    if (!strings)
        return NULL;
    strings->slots = calloc(FIRST_SLOTS, sizeof(*strings->slots));
    strings->slot_count = FIRST_SLOTS;
    if (strings->slots)
        return strings;
    free(strings);
    return NULL;
}

void hs_strings__destroy(struct hs_strings *strings)
{
    if (!strings)
        return;
    while (strings->blocks) {
        struct strings_block *next = strings->blocks->next;
        free(strings->blocks);
        strings->blocks = next;
    }
    free(strings->slots);
    free(strings);
}

static struct strings_block *block_with_room(struct hs_strings *strings, size_t size)
{
    struct strings_block *block = strings->blocks;
    if (block && block->size - block->used >= size)
        return block;
    size_t capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    block = calloc(1, sizeof(*block) + capacity);
    if (!block)
        return NULL;
    block->size = capacity;
    strings->block_bytes += capacity;
    block->next = strings->blocks;
    strings->blocks = block;
    return block;
}

static char *take(struct hs_strings *strings, size_t size, size_t alignment)
{
    struct strings_block *block = block_with_room(strings, size + alignment - 1);
    if (!block)
        return NULL;
    size_t start = (block->used + alignment - 1) & ~(alignment - 1);
    block->used = start + size;
    return block->bytes + start;
}

void *hs_strings__memory(struct hs_strings *strings, size_t size)
{
    return take(strings, size, 16);
}

size_t hs_strings__size(const struct hs_strings *strings)
{
    return strings->block_bytes + strings->slot_count * sizeof(*strings->slots);
}

static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash ^ (hash >> 32);
}

static struct strings_slot *find_slot(struct strings_slot *slots, size_t slot_count, uint64_t hash, const char *bytes,
                                      size_t length)
{
    size_t i = hash & (slot_count - 1);
    while (slots[i].text) {
        if (slots[i].hash == hash && slots[i].length == length && !memcmp(slots[i].text, bytes, length))
            break;
        i = (i + 1) & (slot_count - 1);
    }
    return &slots[i];
}

static int grow(struct hs_strings *strings)
{
    size_t slot_count = strings->slot_count * 2;
    struct strings_slot *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return -1;
    for (size_t i = 0; i < strings->slot_count; i++) {
        const struct strings_slot *old = &strings->slots[i];
        if (old->text)
            *find_slot(slots, slot_count, old->hash, old->text, old->length) = *old;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = slot_count;
    return 0;
}

const char *hs_strings__add_bytes(struct hs_strings *strings, const char *bytes, size_t length)
{
    if (strings->count * 2 >= strings->slot_count && grow(strings))
        return NULL;
    uint64_t hash = hash_bytes(bytes, length);
    struct strings_slot *slot = find_slot(strings->slots, strings->slot_count, hash, bytes, length);
    if (slot->text)
        return slot->text;
    char *copy = take(strings, length + 1, 1);
    if (!copy)
        return NULL;
    memcpy(copy, bytes, length);
    *slot = (struct strings_slot){.text = copy, .hash = hash, .length = length};
    strings->count++;
    return copy;
}

const char *hs_strings__add(struct hs_strings *strings, const char *text)
{
    return hs_strings__add_bytes(strings, text, strlen(text));
}
