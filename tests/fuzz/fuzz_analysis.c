// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The analysis of hostile code: any bytes, by every decoder, asked at places all over them, as a call's and exactly.
// The first byte chooses the decoder and whether places are exact.
#include "unwind/analysis.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PLACES = 12 };

static const struct hs_decoder *choose(uint8_t byte)
{
    static const struct hs_decoder *const decoders[] = {&hs_decoder_amd64, &hs_decoder_aarch64, &hs_decoder_arm,
                                                        &hs_decoder_thumb, &hs_decoder_mips64,  &hs_decoder_mips64el};
    return decoders[byte % 6];
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_frame(const struct hs_decoder *decoder, const struct hs_code_frame *frame)
{
    if (frame->outermost)
        return;
    require(frame->cfa_register < HS_DECODER_REGISTERS && frame->aligned_register < HS_DECODER_REGISTERS);
    require(frame->cfa_in_memory ? !frame->bases : frame->bases >> frame->cfa_register & 1);
    require(frame->saved >> HS_DECODER_REGISTERS == 0 && frame->unchanged >> HS_DECODER_REGISTERS == 0);
    require((frame->saved & frame->unchanged) == 0);
    if (decoder->ra != HS_DECODER_NO_REGISTER)
        require((frame->saved | frame->unchanged) >> decoder->ra & 1);
}

static void analyse(const struct hs_decoder *decoder, const struct hs_code *code, bool exact)
{
    size_t memory_size = hs_analysis_memory_size(decoder, code->size);
    size_t step = code->size / PLACES / decoder->alignment * decoder->alignment + decoder->alignment;
    uint8_t *memory = aligned_alloc(16, (memory_size + 15) / 16 * 16);
    for (size_t at = 0; at < code->size; at += step) {
        struct hs_code_frame frame;
        memset(memory, 0, memory_size);
        if (hs_analyse(decoder, code, code->address + at, exact, memory, &frame))
            check_frame(decoder, &frame);
    }
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct hs_decoder *decoder = choose(data[0]);
    // An exact copy, so that the sanitizer sees every byte read outside of it.
    size_t length = size - 1;
    uint8_t *copy = malloc(length);
    memcpy(copy, data + 1, length);
    struct hs_code code = {.bytes = copy, .size = length, .address = 0x10000};
    analyse(decoder, &code, data[0] >= 128);
    free(copy);
    return 0;
}
