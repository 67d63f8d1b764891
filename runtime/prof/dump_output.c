// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A dump of many stacks is mostly numbers: they are written straight into the buffer, without divisions.
#include "runtime/prof/dump_output.h"

#include "arch/system.h"
#include "runtime/prof/streaming.h"
#include "runtime/stream/dump_pieces.h"
#include "runtime/text.h"

#include <errno.h>

enum { NUMBER_LIMIT = 20, BILLION = 1000000000 };

static void write_all(struct hs_dump_output *output, const char *bytes, uint64_t length)
{
    // A child that was forked in the middle has its parent's descriptor, and no business there.
    if (!output->error && output->pid != hs_streaming__pid())
        output->error = ECANCELED;
    if (output->streamed && output->error != ECANCELED)
        hs_dump_pieces__put(bytes, length);
    if (output->fd < 0)
        return;
    while (length && !output->error) {
        long count = hs_system_write(output->fd, bytes, length > 1u << 30 ? 1u << 30 : (size_t)length);
        if (count == -EINTR)
            continue;
        if (count <= 0) {
            output->error = count ? (int)-count : ENOSPC;
            return;
        }
        bytes += count;
        length -= (uint64_t)count;
        output->written += (uint64_t)count;
    }
}

void hs_dump_output__flush(struct hs_dump_output *output)
{
    write_all(output, output->buffer, output->used);
    output->used = 0;
}

void hs_dump_output__bytes(struct hs_dump_output *output, const void *bytes, uint64_t length)
{
    if (length > sizeof output->buffer - output->used)
        hs_dump_output__flush(output);
    if (length > sizeof output->buffer) {
        write_all(output, bytes, length);
        return;
    }
    __builtin_memcpy(output->buffer + output->used, bytes, (size_t)length);
    output->used += (uint32_t)length;
}

void hs_dump_output__text(struct hs_dump_output *output, const char *text)
{
    hs_dump_output__bytes(output, text, hs_text__length(text));
}

// Room for one number.
static char *reserve(struct hs_dump_output *output)
{
    if (sizeof output->buffer - output->used < HS_DUMP_SHORT_LIMIT)
        hs_dump_output__flush(output);
    return output->buffer + output->used;
}

// Writes the digits of `number` in front of `end`; at least `least` of them.
static char *digits_before(char *end, uint32_t number, int least)
{
    for (; number || least > 0; least--) {
        uint32_t tenth = (uint32_t)(number * 0xcccccccdull >> 35);
        *--end = (char)('0' + (number - tenth * 10));
        number = tenth;
    }
    return end;
}

void hs_dump_output__number(struct hs_dump_output *output, uint64_t number)
{
    if (number < 10) {
        *reserve(output) = (char)('0' + number);
        output->used++;
        return;
    }
    char digits[NUMBER_LIMIT], *end = digits + sizeof digits, *at = end, *to = reserve(output);
    while (number > UINT32_MAX) {
        at = digits_before(at, (uint32_t)(number % BILLION), 9);
        number /= BILLION;
    }
    at = digits_before(at, (uint32_t)number, 0);
    output->used += (uint32_t)(end - at);
    while (at < end)
        *to++ = *at++;
}

// The eight digits of 32 bits as they lie in memory: all at once, in the bytes of a word.
static uint64_t eight_digits(uint32_t number)
{
    uint64_t digits = number;
    digits = (digits << 16 | digits) & 0x0000ffff0000ffffull;
    digits = (digits << 8 | digits) & 0x00ff00ff00ff00ffull;
    digits = (digits << 4 | digits) & 0x0f0f0f0f0f0f0f0full;
    uint64_t letters = (digits + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
    digits += 0x3030303030303030ull + letters * ('a' - '0' - 10);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    digits = __builtin_bswap64(digits);
#endif
    return digits;
}

// Writes the digits to `to`, which has room for 16 whatever their number, and returns their end.
static char *put_hex(char *to, uint64_t number)
{
    uint64_t high = eight_digits((uint32_t)(number >> 32)), low = eight_digits((uint32_t)number);
    unsigned zeros = (unsigned)__builtin_clzll(number | 1) / 4;
    char digits[32] = {0};
    __builtin_memcpy(digits, &high, 8);
    __builtin_memcpy(digits + 8, &low, 8);
    __builtin_memcpy(&high, digits + zeros, 8);
    __builtin_memcpy(&low, digits + zeros + 8, 8);
    __builtin_memcpy(to, &high, 8);
    __builtin_memcpy(to + 8, &low, 8);
    return to + 16 - zeros;
}

void hs_dump_output__hex(struct hs_dump_output *output, uint64_t number)
{
    char *to = reserve(output);
    output->used += (uint32_t)(put_hex(to, number) - to);
}

static void make_text(struct hs_dump_address_text *text, uint64_t address)
{
    char digits[16];
    unsigned count = (unsigned)(put_hex(digits, address) - digits);
    __builtin_memcpy(text->text, " 0x", 3);
    __builtin_memcpy(text->text + 3, digits, sizeof digits);
    text->address = address;
    text->length = 3 + count;
}

#if defined(__mips__)
enum { BACK_TO_CALL = 8 }; // over the delay slot
#else
enum { BACK_TO_CALL = 1 };
#endif

uint64_t hs_dump__address(uintptr_t return_address, uint32_t i)
{
#if defined(__arm__) || defined(__mips__)
    return_address &= ~(uintptr_t)1; // the instruction set's bit
#endif
    return (uint64_t)return_address - BACK_TO_CALL + (i > 0);
}

static const struct hs_dump_address_text *text_of(struct hs_dump_output *output, uint64_t address)
{
    uint32_t hash = (uint32_t)address * 0x9e3779b1u >> 16;
    struct hs_dump_address_text *text = &output->texts[hash % HS_DUMP_ADDRESS_TEXTS];
    if (text->address != address || !address)
        make_text(text, address);
    return text;
}

void hs_dump_output__address(struct hs_dump_output *output, uint64_t address)
{
    const struct hs_dump_address_text *text = text_of(output, address);
    char *to = reserve(output);
    __builtin_memcpy(to, text->text, sizeof text->text);
    output->used += text->length;
}

// Below the frames that it shares with the stack before; its innermost frame's address is written differently.
static void extend_tail(struct hs_dump_output *output, const uintptr_t *outermost, uint32_t count)
{
    struct hs_dump_tail *tail = &output->tail;
    uint32_t i = 0;
    while (i < count && i < tail->count && tail->frames[i] == *(outermost - i))
        i++;
    for (; i < count; i++) {
        const struct hs_dump_address_text *text = text_of(output, hs_dump__address(*(outermost - i), 1));
        tail->frames[i] = *(outermost - i);
        tail->lengths[i + 1] = tail->lengths[i] + text->length;
        __builtin_memcpy(tail->text + HS_DUMP_TAIL_END - tail->lengths[i] - HS_DUMP_ADDRESS_ROOM,
                         text->before + text->length, HS_DUMP_ADDRESS_ROOM);
    }
    tail->count = count;
}

// In large steps, with a few bytes more than asked for.
static void put_tail(struct hs_dump_output *output, uint32_t length)
{
    const char *from = output->tail.text + HS_DUMP_TAIL_END - length;
    if (sizeof output->buffer - output->used < length + HS_DUMP_SHORT_LIMIT)
        hs_dump_output__flush(output);
    char *to = output->buffer + output->used;
    for (uint32_t i = 0; i < length; i += HS_DUMP_SHORT_LIMIT)
        __builtin_memcpy(to + i, from + i, HS_DUMP_SHORT_LIMIT);
    output->used += length;
}

void hs_dump_output__stack(struct hs_dump_output *output, const uintptr_t *frames, uint32_t count)
{
    if (!count)
        return;
    hs_dump_output__address(output, hs_dump__address(frames[0], 0));
    uint32_t outer = count - 1 < HS_DUMP_TAIL_FRAMES ? count - 1 : HS_DUMP_TAIL_FRAMES;
    for (uint32_t i = 1; i < count - outer; i++)
        hs_dump_output__address(output, hs_dump__address(frames[i], 1));
    extend_tail(output, frames + count - 1, outer);
    put_tail(output, output->tail.lengths[outer]);
}
