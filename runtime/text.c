// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/text.h"

#include "arch/system.h"

#include <fcntl.h>

size_t hs_text__length(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

bool hs_text__equal(const char *left, const char *right)
{
    while (*left && *left == *right)
        left++, right++;
    return *left == *right;
}

bool hs_text__starts_with(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return false;
    return true;
}

const char *hs_text__base_name(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

static unsigned digit_value(char character)
{
    if (character >= '0' && character <= '9')
        return (unsigned)(character - '0');
    if (character >= 'a' && character <= 'f')
        return (unsigned)(character - 'a' + 10);
    if (character >= 'A' && character <= 'F')
        return (unsigned)(character - 'A' + 10);
    return 99;
}

uint64_t hs_text__parse(const char **text, unsigned base)
{
    uint64_t value = 0;
    for (unsigned digit; (digit = digit_value(**text)) < base; ++*text)
        value = value * base + digit;
    return value;
}

void hs_text__start(struct hs_text *text, char *buffer, size_t size)
{
    text->at = buffer;
    text->last = buffer + size - 1;
    *text->at = 0;
}

void hs_text__add_character(struct hs_text *text, char character)
{
    if (text->at < text->last)
        *text->at++ = character;
    *text->at = 0;
}

void hs_text__add(struct hs_text *text, const char *string)
{
    while (*string)
        hs_text__add_character(text, *string++);
}

void hs_text__add_number(struct hs_text *text, uint64_t number)
{
    char digits[24];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        hs_text__add_character(text, digits[--count]);
}

static size_t read_all(long fd, char *buffer, size_t size)
{
    size_t length = 0;
    for (long got; fd >= 0 && length < size - 1; length += (size_t)got)
        if ((got = hs_system_read((int)fd, buffer + length, size - 1 - length)) <= 0)
            break;
    if (fd >= 0)
        hs_system_close((int)fd);
    buffer[length] = 0;
    return length;
}

size_t hs_text__read_file(const char *path, char *buffer, size_t size)
{
    return read_all(hs_system_open(path, O_RDONLY | O_CLOEXEC, 0), buffer, size);
}

size_t hs_text__read_own(const char *self, const char *thread_self, char *buffer, size_t size)
{
    return read_all(hs_system_open_own(self, thread_self), buffer, size);
}
