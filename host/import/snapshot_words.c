// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/snapshot_words.h"

#include <stdlib.h>

enum { FROM_ZERO, FROM_PLACE, FROM_LAST, ZEROS };
enum { WORDS_MOST = 1 << 16 };

struct snapshot_words_decoder {
    const uint8_t *at, *end;
    uint64_t mask; // of a word
    uint64_t last;
    unsigned zeros; // that are still to come
};

static bool read_difference(struct snapshot_words_decoder *decoder, unsigned length, uint64_t *difference)
{
    uint64_t value = 0;
    if (length > 8 || length > (size_t)(decoder->end - decoder->at))
        return false;
    for (unsigned i = 0; i < length; i++)
        value |= (uint64_t)*decoder->at++ << 8 * i;
    *difference = value >> 1 ^ (0 - (value & 1));
    return true;
}

// The next word, which lies at `place`. False at the end, and for what makes no sense.
static bool next_word(struct snapshot_words_decoder *decoder, uint64_t place, uint64_t *word)
{
    *word = 0;
    if (decoder->zeros) {
        decoder->zeros--;
        return true;
    }
    if (decoder->at == decoder->end)
        return false;
    unsigned first = *decoder->at++, kind = first & 3, length = first >> 2;
    if (kind == ZEROS) {
        decoder->zeros = length;
        return true;
    }
    if (!read_difference(decoder, length, word))
        return false;
    *word += kind == FROM_PLACE ? place : kind == FROM_LAST ? decoder->last : 0;
    *word &= decoder->mask;
    if (kind != FROM_PLACE && length > 2)
        decoder->last = *word;
    return true;
}

static void store(const struct hs_snapshot_form *form, uint8_t *at, uint64_t word)
{
    for (unsigned i = 0; i < form->pointer_size; i++)
        at[form->big_endian ? form->pointer_size - 1 - i : i] = (uint8_t)(word >> 8 * i);
}

bool hs_snapshot_words__read(const struct hs_snapshot_form *form, const uint8_t *bytes, size_t length,
                             uint64_t *registers, uint8_t **copy, size_t *size)
{
    struct snapshot_words_decoder decoder = {
        .at = bytes, .end = bytes + length, .mask = UINT64_MAX >> (64 - 8 * form->pointer_size)};
    uint64_t word, sp;
    size_t count = 0;
    bool done = next_word(&decoder, 0, &sp);
    for (unsigned i = 0; i < form->registers; i++)
        done = done && next_word(&decoder, sp, &registers[i]);
    if (!done)
        return false;
    *copy = malloc((size_t)WORDS_MOST * form->pointer_size);
    if (!*copy)
        return false;
    for (; count < WORDS_MOST && next_word(&decoder, sp + count * form->pointer_size, &word); count++)
        store(form, *copy + count * form->pointer_size, word);
    *size = count * form->pointer_size;
    return true;
}
