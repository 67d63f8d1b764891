// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/decoder/describe.h"

#include <stdarg.h>
#include <stdio.h>

static char line[2048];
static size_t used;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line + used, sizeof line - used, format, values);
    va_end(values);
    if (length > 0 && used + (size_t)length < sizeof line)
        used += (size_t)length;
}

static void say_effect(const struct hs_effect *effect)
{
    unsigned reg = effect->reg, source = effect->source, other = effect->other;
    int value = effect->value;
    switch (effect->kind) {
    case HS_EFFECT_CLOBBER:
        say(" r%u=?", reg);
        return;
    case HS_EFFECT_SET:
        say(" r%u=#%d", reg, value);
        return;
    case HS_EFFECT_ADD:
        say(" r%u=r%u%+d", reg, source, value);
        return;
    case HS_EFFECT_ADD_REGISTER:
        say(" r%u=r%u+r%u", reg, source, other);
        return;
    case HS_EFFECT_SUB_REGISTER:
        say(" r%u=r%u-r%u", reg, source, other);
        return;
    case HS_EFFECT_OR:
        say(" r%u=r%u|%d", reg, source, value);
        return;
    case HS_EFFECT_SHIFT_LEFT:
        say(" r%u=r%u<<%d", reg, source, value);
        return;
    case HS_EFFECT_ALIGN:
        say(" r%u=r%u aligned", reg, source);
        return;
    case HS_EFFECT_STORE:
        say(" [r%u%+d]=r%u", source, value, reg);
        return;
    case HS_EFFECT_LOAD:
        say(" r%u=[r%u%+d]", reg, source, value);
        return;
    default:
        say(" effect %u", effect->kind);
    }
}

const char *describe_instruction(const struct hs_instruction *instruction)
{
    static const char *const flows[] = {"", " call", " branch", " jump", " indirect", " return", " stop"};
    used = 0;
    line[0] = line[1] = 0;
    if (instruction->size == 0)
        return "none";
    if (instruction->conditional)
        say(" conditional");
    if (instruction->delay_slot)
        say(instruction->likely ? " likely" : " delay");
    say("%s%s", flows[instruction->flow], instruction->unless_equal ? " unless equal" : "");
    if (instruction->target)
        say(" %#lx", (unsigned long)instruction->target);
    if (instruction->compares)
        say(" compares r%u r%u", instruction->compared, instruction->compared_with);
    for (unsigned i = 0; i < instruction->count; i++)
        say_effect(&instruction->effects[i]);
    return line[0] ? line + 1 : line;
}

const char *describe_bytes(const struct hs_decoder *decoder, const void *bytes, size_t length)
{
    struct hs_instruction instruction;
    uint32_t context = 0;
    decoder->decode(bytes, length, 0x1000, &context, &instruction);
    return describe_instruction(&instruction);
}
