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

bool hs_code_part__entered_by(const struct hs_decoder *decoder, const struct hs_code *text, const struct hs_code *part,
                              uintptr_t at, struct hs_jump *jump)
{
    struct hs_instruction instruction;
    uint32_t context = 0;
    *jump = (struct hs_jump){0, 0};
    for (size_t offset = 0; offset < text->size; offset += instruction.size) {
        uintptr_t address = text->address + offset;
        bool decoded = decoder->decode(text->bytes + offset, text->size - offset, address, &context, &instruction) &&
                       instruction.size;
        if (!decoded) {
            instruction.size = decoder->alignment;
            context = 0;
            continue;
        }
        bool jumps = instruction.flow == HS_FLOW_BRANCH || instruction.flow == HS_FLOW_JUMP;
        if (jumps && in_code(part, instruction.target) && !in_code(part, address) &&
            is_nearer(instruction.target, at, jump))
            *jump = (struct hs_jump){address, instruction.target};
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
