// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A dump of many stacks is mostly numbers: they are written straight into the buffer, without divisions.
#include "runtime/prof/dump.h"

#include "arch/system.h"
#include "runtime/text.h"

#include <errno.h>

enum { NUMBER_LIMIT = 20, BILLION = 1000000000 };

static void write_all(struct hs_dump_output *output, const char *bytes, uint64_t length)
{
    // A child that was forked in the middle has its parent's descriptor, and no business there.
    if (!output->error && output->pid != (uint32_t)hs_system_getpid())
        output->error = ECANCELED;
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
    if (sizeof output->buffer - output->used < NUMBER_LIMIT)
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
    char digits[NUMBER_LIMIT], *end = digits + sizeof digits, *at = end;
    while (number > UINT32_MAX) {
        at = digits_before(at, (uint32_t)(number % BILLION), 9);
        number /= BILLION;
    }
    at = digits_before(at, (uint32_t)number, at == end);
    hs_dump_output__bytes(output, at, (uint64_t)(end - at));
}

void hs_dump_output__hex(struct hs_dump_output *output, uint64_t number)
{
    char *to = reserve(output);
    unsigned digits = (67 - (unsigned)__builtin_clzll(number | 1)) / 4;
    for (unsigned shift = digits * 4; shift;) {
        shift -= 4;
        *to++ = "0123456789abcdef"[number >> shift & 15];
    }
    output->used += digits;
}
