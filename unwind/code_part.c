// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/code_part.h"

static bool in_code(const struct hs_code *code, uintptr_t address)
{
    return address - code->address < code->size;
}

static bool is_nearer(uintptr_t to, uintptr_t at, const struct hs_jump *jump)
{
    if (!jump->to || (to <= at) != (jump->to <= at))
        return !jump->to || to <= at;
    return to <= at ? to > jump->to : to < jump->to;
}

struct look {
    const struct hs_decoder *decoder;
    const struct hs_code *text, *part;
    uintptr_t at;
    struct hs_jump *jump;
};

// Notes the instruction at `offset` if it is a jump into the part. Returns its size.
static size_t look_at(const struct look *look, size_t offset)
{
    struct hs_instruction instruction;
    const struct hs_code *text = look->text;
    uintptr_t address = text->address + offset;
    uint32_t context = 0;
    if (!look->decoder->decode(text->bytes + offset, text->size - offset, address, &context, &instruction) ||
        !instruction.size)
        return look->decoder->alignment;
    bool jumps = instruction.flow == HS_FLOW_BRANCH || instruction.flow == HS_FLOW_JUMP;
    if (jumps && in_code(look->part, instruction.target) && !in_code(look->part, address) &&
        is_nearer(instruction.target, look->at, look->jump))
        *look->jump = (struct hs_jump){address, instruction.target};
    return instruction.size;
}

// For short distances: instruction by instruction.
static void look_near(const struct look *look, uintptr_t from, uintptr_t to)
{
    for (size_t offset = from - look->text->address; offset < look->text->size && offset < to - look->text->address;)
        offset += look_at(look, offset);
}

bool hs_code_part__entered_by(const struct hs_decoder *decoder, const struct hs_code *text, const struct hs_code *part,
                              uintptr_t at, struct hs_jump *jump)
{
    enum { NEAR = 144 };
    const struct look look = {decoder, text, part, at, jump};
    const uint8_t *code = text->bytes, *end = code + text->size;
    uintptr_t before = part->address - text->address, part_end = part->address + part->size;
    *jump = (struct hs_jump){0, 0};
    look_near(&look, part->address - (before < NEAR ? before : NEAR), part->address);
    look_near(&look, part_end, part_end + NEAR);
    while ((code = decoder->far_jump(code, end, text->address + (uintptr_t)(code - text->bytes), part->address,
                                     part->size))) {
        look_at(&look, (size_t)(code - text->bytes));
        code++;
    }
    return jump->to != 0;
}

size_t hs_code_part__memory_size(const struct hs_decoder *decoder, const struct hs_code *function,
                                 const struct hs_code *part)
{
    return (hs_analysis_memory_size(decoder, function->size) + 15) / 16 * 16 +
           hs_analysis_memory_size(decoder, part->size);
}

bool hs_code_part__analyse(const struct hs_decoder *decoder, const struct hs_code *function, const struct hs_code *part,
                           const struct hs_jump *jump, uintptr_t at, void *memory, struct hs_code_frame *frame)
{
    struct hs_code_frame entered;
    size_t first_size = (hs_analysis_memory_size(decoder, function->size) + 15) / 16 * 16;
    if (!hs_analyse(decoder, function, jump->from, true, memory, &entered))
        return false;
    struct hs_code rest = *part;
    rest.entered = &entered;
    rest.entry = jump->to;
    return hs_analyse(decoder, &rest, at, false, (uint8_t *)memory + first_size, frame);
}
