// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Every decoder over hostile bytes: what is decoded has a size that advances and lies in the bytes, effects stay within
// their array and name registers that exist. The first byte chooses the decoder.
#include "arch/decoder.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Those of architectures that have none yet are NULL.
#pragma weak hs_decoder_amd64
#pragma weak hs_decoder_aarch64
#pragma weak hs_decoder_arm
#pragma weak hs_decoder_thumb
#pragma weak hs_decoder_mips64
#pragma weak hs_decoder_mips64el

static volatile unsigned sink;

static const struct hs_decoder *choose(uint8_t byte)
{
    switch (byte % 6) {
    case 0:
        return &hs_decoder_amd64;
    case 1:
        return &hs_decoder_aarch64;
    case 2:
        return &hs_decoder_arm;
    case 3:
        return &hs_decoder_thumb;
    case 4:
        return &hs_decoder_mips64;
    default:
        return &hs_decoder_mips64el;
    }
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_instruction(const struct hs_decoder *decoder, const struct hs_instruction *instruction, size_t length)
{
    require(instruction->size <= length && instruction->size % decoder->alignment == 0);
    require(instruction->flow <= HS_FLOW_STOP);
    require(instruction->count <= HS_EFFECTS_MAX);
    require(instruction->case_count == 0 || instruction->case_size <= 8);
    require(instruction->data_size == 0 || decoder->data_in_code);
    for (unsigned i = 0; i < instruction->count; i++) {
        const struct hs_effect *effect = &instruction->effects[i];
        require(effect->kind <= HS_EFFECT_LOAD);
        require(effect->reg < HS_DECODER_REGISTERS && effect->source < HS_DECODER_REGISTERS &&
                effect->other < HS_DECODER_REGISTERS);
    }
}

// Straight on, as the analysis goes along a path; where nothing is decoded, on at the next place.
static void decode_all(const struct hs_decoder *decoder, const uint8_t *code, size_t length)
{
    uint32_t context = 0;
    for (size_t at = 0; at < length;) {
        struct hs_instruction instruction;
        bool known = decoder->decode(code + at, length - at, 0x10000 + at, &context, &instruction);
        require(known == (instruction.size != 0));
        if (known)
            check_instruction(decoder, &instruction, length - at);
        else
            context = 0;
        sink += decoder->starts_function(code + at, length - at);
        sink += decoder->ends_with_call(code + at, at);
        at += known ? instruction.size : decoder->alignment;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct hs_decoder *decoder = choose(data[0]);
    if (!decoder)
        return 0;
    // An exact copy, so that the sanitizer sees every byte read outside of it.
    size_t length = size - 1;
    uint8_t *copy = malloc(length);
    memcpy(copy, data + 1, length);
    decode_all(decoder, copy, length);
    free(copy);
    return 0;
}
